"""Frameworks, answered by countersign. Each module needs the package that it is named after."""
