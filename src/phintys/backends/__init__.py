"""What turns a FunctionGraph into something that can be called."""
