"""What to know of the pictures before trusting an accuracy. Every finding is a suspicion; a person decides.

look        one look at each picture: header, thumbnail, light       light      colour and blur from pixels
duplicates  the same picture more than once                          alignment  one picture laid over another
oddities    dark, blurred, odd pictures                              shortcuts  what gives the class away
features    what a frozen network sees (torch)                       labels     confident learning
suspects    findings as pictures a person can look at                review_file  what the person answered
plan        how it is to be done
auditing    all of it, into one report
"""
