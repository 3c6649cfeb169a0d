"""One module per fault; the module name is the check id. Pure: records and knowledge in, problems out."""
