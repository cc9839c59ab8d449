"""The forwards of a CUDA engine: slots in one pool, fused kernels, graphs captured once, one read a round.

Everything but the capture itself also runs on the CPU, with the kernels' references; there a replay is a direct call.
"""
