"""The web pages of a collection: the survey page of the first shuffler, and the console of the analyzer."""
