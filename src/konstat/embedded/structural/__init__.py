"""Structural schemas as kube-apiserver uses them for custom resources, text for text.

`crd.check_crd` decides whether a CustomResourceDefinition may be stored; `custom.CustomSchema`
prunes, defaults and validates its objects. The smaller modules hold one step each: `pruning`,
`defaulting`, `validation` (with `numbers`, `patterns`, `formats` and what they read), `list_types`,
`object_meta`, and for schemas themselves `crd_names`, `crd_conversion`, `crd_structural`,
`crd_schema`, `crd_defaults`. Rules in CEL are `konstat.embedded.cel`'s. All pure.
"""
