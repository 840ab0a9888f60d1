"""`CustomSchema`: everything that one version of a CRD asks of its objects, in one place.

The core's handling of custom resources calls it: `prune` and `defaults` when an object comes in,
`validate` and `validate_status` before it is stored, `defaults` again when it is read. The order
of errors is the server's. Before: all other modules of this package. After:
`konstat.embedded.crds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from konstat.embedded.cel.rules import Rules
from konstat.embedded.status_errors import FieldError
from konstat.embedded.structural import object_meta, texts
from konstat.embedded.structural.correlation import Correlated, Schema
from konstat.embedded.structural.defaulting import apply_defaults
from konstat.embedded.structural.list_types import list_type_errors
from konstat.embedded.structural.pruning import drop_nulls, prune
from konstat.embedded.structural.validation import validate

Object = dict[str, Any]


class CustomSchema:
    """A structural schema that `konstat.embedded.structural.crd.check_crd` has accepted."""

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        self.schema: Schema = schema or {"type": "object"}
        self._rules = Rules.compile(self.schema)

    def check_form(self, obj: Object) -> None:
        """Raise ValueError, with the server's text, for embedded metadata of a wrong type."""
        object_meta.check(obj, self.schema)

    def prune(self, obj: Object) -> list[str]:
        """Drop unknown fields and stray nulls, in place; the paths of unknown fields.

        Metadata of embedded objects is brought into its form too; raises ValueError where that
        is impossible (`check_form` says so before).
        """
        dropped = prune(obj, self.schema)
        drop_nulls(obj, self.schema)
        dropped += object_meta.unknown_metadata(obj, self.schema)
        object_meta.coerce(obj, self.schema)
        return dropped

    def defaults(self, obj: Object) -> None:
        """Fill in defaults, in place: on writes and on reads (C50)."""
        apply_defaults(obj, self.schema)

    def validate(
        self, new: Object, old: Object | None, *, earlier: Sequence[FieldError] = ()
    ) -> list[FieldError]:
        """The errors of a new object, or of an update.

        ``earlier`` are errors that were found before (metadata, scale): with some of them the
        rules are not run.
        """
        correlated = None if old is None else Correlated(new, old, self.schema)
        found = validate(new, self.schema, correlated=correlated)
        found += object_meta.embedded_errors(new, self.schema)
        if old is None or not list_type_errors(old, self.schema):
            found += list_type_errors(new, self.schema)
        return [*found, *self._rule_errors(new, old, correlated, [*earlier, *found])]

    def validate_status(
        self, new: Object, old: Object, *, earlier: Sequence[FieldError] = ()
    ) -> list[FieldError]:
        """The errors of a write to /status; only the status is measured by the schema."""
        correlated = Correlated(new, old, self.schema)
        found: list[FieldError] = []
        status_schema = (self.schema.get("properties") or {}).get("status")
        if status_schema is not None and "status" in new:
            status = correlated.member("status")
            found += validate(new["status"], status_schema, path="status", correlated=status)
        if not list_type_errors(old, self.schema):
            found += list_type_errors(new, self.schema)
        return [*found, *self._rule_errors(new, old, correlated, [*earlier, *found])]

    def _rule_errors(
        self,
        new: Object,
        old: Object | None,
        correlated: Correlated | None,
        found: Sequence[FieldError],
    ) -> list[FieldError]:
        if self._rules is None:
            return []
        if any(error.reason in texts.BLOCKING for error in found):
            detail = (
                "some validation rules were not checked because the object was invalid; correct"
                " the existing errors to complete validation"
            )
            return [texts.invalid("", None, detail)]
        return self._rules.check(new, old, correlated=correlated)
