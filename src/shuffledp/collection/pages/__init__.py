"""What the pages of both servers share: how they may be shown, and the files that they load."""
