package sdk

import "hindcast/model"

// Verdict tells how an SDK treats a fault: the severity, and in words. If it depends on a rule, it also has
// the verdict of the versions before the rule.
type Verdict struct {
	severity model.Severity
	// lead is how the words begin, text how they go on.
	lead, text string
	rule       Rule
	before     *Verdict
}

// How the words of verdicts begin.
const (
	leadLoads    = "loads; "
	leadRepaired = leadLoads + "repaired in memory, the files stay as they are: "
	leadRefuses  = "refuses to start: "
)

// Of returns the verdict of all versions: what is said of it begins as its severity
// demands.
func Of(severity model.Severity, text string) Verdict {
	lead := leadLoads
	switch severity {
	case model.Mended:
		lead = leadRepaired
	case model.Stops:
		lead = leadRefuses
	}
	return Verdict{severity: severity, lead: lead, text: text}
}

// Ignores returns the verdict on what another program left.
func Ignores(text string) Verdict { return Of(model.Note, text) }

// Loads returns the verdict on what does no harm.
func Loads(text string) Verdict { return Of(model.Odd, text) }

// Repairs returns the verdict on what is mended in memory.
func Repairs(text string) Verdict { return Of(model.Mended, text) }

// Loses returns the verdict on what loads and costs something then.
func Loses(text string) Verdict { return Of(model.Loses, text) }

// Refuses returns the verdict on what keeps the SDK from starting: the exception.
func Refuses(text string) Verdict { return Of(model.Stops, text) }

// Says returns a verdict in words of its own.
func Says(severity model.Severity, text string) Verdict {
	return Verdict{severity: severity, text: text}
}

// WithRule returns the verdict for versions that follow a rule; before is the verdict for earlier versions.
func (v Verdict) WithRule(r Rule, before Verdict) Verdict {
	v.rule, v.before = r, &before
	return v
}

// Severity returns how bad it is in the newest version.
func (v Verdict) Severity() model.Severity { return v.severity }

// Text returns the text about the newest version, without its lead.
func (v Verdict) Text() string { return v.text }

// Judge returns the worst that one of the versions in question does, and in words what
// the newest does, and in brackets what those do before a rule.
func (s Span) Judge(v Verdict) (model.Severity, string) {
	severity, lead, text := s.judge(v)
	return severity, lead + text
}

func (s Span) judge(v Verdict) (severity model.Severity, lead, text string) {
	switch {
	case v.before == nil || s.AllFollow(v.rule):
		return v.severity, v.lead, v.text
	case s.only:
		return s.judge(*v.before)
	}
	severity, lead, text = s.judge(*v.before)
	switch { // it is said once
	case lead == v.lead:
	case v.severity < model.Stops && lead == leadRepaired:
		text = lead[len(leadLoads):] + text
	case v.severity == model.Stops || lead != leadLoads:
		text = lead + text
	}
	return max(severity, v.severity), v.lead, v.text + v.rule.earlier(text)
}

// WithVerdict returns a fault with a verdict on it.
func (s Span) WithVerdict(f model.Fault, v Verdict) model.Fault {
	f.Severity, f.Verdict = s.Judge(v)
	return f
}
