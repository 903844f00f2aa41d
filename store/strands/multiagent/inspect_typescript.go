package multiagent

func (ts *typeScriptRecord) inspect() {}

// anew says what a start does that does not go on with the run.
func (r *Run) anew() string { return "nothing; the next start begins anew" }
