"""Where columns come from: files on disk, and tables and arrays in memory."""
