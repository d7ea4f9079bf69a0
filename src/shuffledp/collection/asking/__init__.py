"""The page that puts a task's question to a visitor, and answers it with the client in their own browser."""
