"""The native backend: graphs compiled to machine code by LLVM."""
