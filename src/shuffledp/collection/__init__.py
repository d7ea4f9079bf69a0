"""The shuffled model between real machines: nobody holds the data.

person --Client--> report --Shuffler (1..k in a chain)--> batch --Analyzer--> tally --> release
"""
