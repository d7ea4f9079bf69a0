"""What the pages of both servers share: HTML and what is around it, how it may be shown, and the files it loads."""
