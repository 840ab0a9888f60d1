"""List and watch into stores that controllers share."""
