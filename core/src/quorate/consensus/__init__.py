"""Agreement on a log of bytes: Raft on PySyncObj, made safe."""
