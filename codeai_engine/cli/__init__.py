"""The commands of codeai-engine: one module per family; exits.py owns stderr and exit codes."""
