package sdk_test

import (
	"errors"
	"testing"

	"hindcast/model"
	"hindcast/store"
	"hindcast/store/sdk"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"1.0": "1.0", "1.30.2": "1.30", "10.4": "10.4",
		"": "", "1": "", "1.": "", "1.2.3.4": "", "1.-2": "", "+1.2": "", "v1.2": "", "1.70000": "",
	} {
		v, ok := sdk.Parse(text)
		if ok != (want != "") || ok && v.String() != want {
			t.Errorf("%q: %v %t, want %q", text, v, ok, want)
		}
	}
}

// What is shown is what the newest version in question does, and what the others do
// stands behind it.
func TestSpan_saysWhatItsVersionsDo(t *testing.T) {
	rule := sdk.RuleSince(1, 15)
	now, before := "repaired in memory, the files stay as they are: put in", "nothing is put in"
	both := sdk.Repairs("put in").WithRule(rule, sdk.Loses("nothing is put in"))
	for name, c := range map[string]struct {
		span                  sdk.Span
		always, shown, differ bool
		severity              model.Severity
		verdict               string
	}{
		"all":            {sdk.From(sdk.First), false, true, true, model.Loses, now + " (before 1.15: nothing is put in)"},
		"the later":      {sdk.From(sdk.Version{Major: 1, Minor: 15}), true, true, false, model.Mended, now},
		"a later one":    {sdk.Only(sdk.Version{Major: 2, Minor: 0}), true, true, false, model.Mended, now},
		"the one before": {sdk.LastBefore(rule), false, false, false, model.Loses, before},
	} {
		t.Run(name, func(t *testing.T) {
			if c.span.AllFollow(rule) != c.always || c.span.NewestFollows(rule) != c.shown || c.span.Differ(rule) != c.differ {
				t.Errorf("always %t, shown %t, differ %t", c.span.AllFollow(rule), c.span.NewestFollows(rule), c.span.Differ(rule))
			}
			if got := c.span.Words(rule, now, before); got != c.verdict {
				t.Errorf("the words are %q, want %q", got, c.verdict)
			}
			if severity, got := c.span.Judge(both); severity != c.severity || got != "loads; "+c.verdict {
				t.Errorf("the verdict is %v, %q, want %v, %q", severity, got, c.severity, "loads; "+c.verdict)
			}
		})
	}
}

func TestRunning_takesOneVersionOfEachSDK(t *testing.T) {
	var r sdk.Running
	opens := sdk.Opens{"a": sdk.RuleSince(1, 0), "b": sdk.RuleSince(0, 9)}
	if got := opens.Span("b", &r); !got.Has(sdk.Version{Major: 0, Minor: 9}) || got.Has(sdk.Version{Major: 0, Minor: 8}) {
		t.Errorf("any version is %+v", got)
	}
	if r.ListAssumed() != nil || r.Of("a") != nil {
		t.Errorf("nothing was said, and it runs %v", r.ListAssumed())
	}
	for _, wrong := range [][2]string{{"c", "1.2"}, {"a", "0.9"}, {"a", "new"}, {"b", "0.8"}} {
		if err := r.Assume("kind", opens, store.Release{SDK: wrong[0], Version: wrong[1]}); !errors.Is(err, store.ErrUnknownSDK) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	for _, said := range [][3]string{{"b", "1.2", "x.lock"}, {"a", "1.30.1", "a.lock"}, {"b", "1.3", ""}} {
		if err := r.Assume("kind", opens, store.Release{SDK: said[0], Version: said[1], From: said[2]}); err != nil {
			t.Error(err)
		}
	}
	got := r.ListAssumed()
	if got.String() != "a 1.30 (from a.lock), b 1.3" || got.Short() != "a 1.30, b 1.3" || *r.Of("b") != (sdk.Version{Major: 1, Minor: 3}) {
		t.Errorf("it runs %q", got)
	}
}
