package multiagent

func (p *pythonRecord) inspect() {}
