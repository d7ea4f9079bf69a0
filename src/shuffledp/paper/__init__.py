"""The statements of the paper and one privacy check per protocol, each compared with an independent computation."""
