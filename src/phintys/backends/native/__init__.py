"""What turns a graph into native code, through LLVM."""
