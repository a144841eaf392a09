"""From a FunctionGraph to the steps of a Program: one file for each family of Ops."""
