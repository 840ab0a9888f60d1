"""CEL rules of CustomResourceDefinitions (x-kubernetes-validations), as kube-apiserver has them.

The library cel-expr-python (extra ``konstat[cel]``) reads the text of a rule; the rest is here,
because a rule sees Kubernetes data: types come from the schema, undefined fields are errors, and
lists that are sets or maps compare without order. `rules.Rules` checks objects, `judging` decides
at the creation of a CRD whether a rule may stand.

In order: `parsing` (text to `tree`), `macros`, `types`, `declared` (schema to types),
`signatures` (what may be called), `checker`, `cost` (static bounds), `values`, `evaluator`,
`functions_*`, `rules`, `judging`. Nothing here waits or does I/O.
"""
