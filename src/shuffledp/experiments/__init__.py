"""The paper's tables, made anew; one module each, run as a program."""
