"""What runs on people's side: it checks the task, randomizes an answer, seals it and sends it, once."""
