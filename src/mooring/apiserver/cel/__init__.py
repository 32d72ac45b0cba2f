"""The Common Expression Language as Kubernetes uses it. All pure.

`rules.py` runs the `x-kubernetes-validations` of custom resources, `expression.py` the expressions
of admission policies. Both go the same way: text (`lexer.py`, `parser.py`, `macros.py`) to tree
(`ast.py`), types (`checker.py`), and closures (`compiler.py`), which count what they cost.
"""
