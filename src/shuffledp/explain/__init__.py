"""Text, HTML and charts about results, releases, plans and tasks. Nothing is computed here."""
