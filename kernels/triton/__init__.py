"""The Triton forms of the operations: `fused` in the file of the same name, with the signature of the `reference`."""
