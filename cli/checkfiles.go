package cli

import (
	"encoding/xml"
	"net/url"
	"path/filepath"
	"strings"

	"hindcast/model/printable"
)

// junitSuites is the root of JUnit's XML, as Jenkins and GitHub's actions read it.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

// junitSuite is a run, with a test for each rule.
type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

// junitCase is a rule. Out tells the breaches of a warning.
type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Error   *junitTrouble `xml:"error,omitempty"`
	Failure *junitTrouble `xml:"failure,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

// junitTrouble says why a test failed.
type junitTrouble struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit returns the results as JUnit's XML.
func writeJUnit(c *checkJSON) ([]byte, error) {
	var all junitSuites
	for i := range c.Runs {
		r := &c.Runs[i]
		suite := junitSuite{Name: printable.String(r.Store + " " + r.SessionID + " " + r.Name), Tests: len(c.Rules)}
		for _, rule := range c.Rules {
			test := junitCase{Name: printable.String(rule.Name), Class: printable.String(r.SessionID)}
			if list := r.breachesOf(rule.Name); len(list) > 0 {
				trouble := &junitTrouble{printable.String(firstOf(rule.Says, list[0].Text)), rule.Level, printable.Text(breachText(list))}
				switch {
				case list[0].Error:
					test.Error = trouble
					suite.Errors++
				case rule.Level == levelError:
					test.Failure = trouble
					suite.Failures++
				default:
					test.Out = trouble.Text
				}
			}
			suite.Cases = append(suite.Cases, test)
		}
		all.Tests, all.Failures, all.Errors = all.Tests+suite.Tests, all.Failures+suite.Failures, all.Errors+suite.Errors
		all.Suites = append(all.Suites, suite)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}

// sarifJSON is the members of SARIF 2.1.0 that check writes.
type sarifJSON struct {
	Schema  string         `json:"$schema"`
	Version string         `json:"version"`
	Runs    []sarifRunJSON `json:"runs"`
}

type sarifRunJSON struct {
	Tool    sarifToolJSON     `json:"tool"`
	Results []sarifResultJSON `json:"results"`
}

type sarifToolJSON struct {
	Driver sarifDriverJSON `json:"driver"`
}

type sarifDriverJSON struct {
	Name  string          `json:"name"`
	Rules []sarifRuleJSON `json:"rules"`
}

type sarifRuleJSON struct {
	ID      string         `json:"id"`
	Short   sarifTextJSON  `json:"shortDescription"`
	Default sarifLevelJSON `json:"defaultConfiguration"`
}

type sarifLevelJSON struct {
	Level string `json:"level"`
}

type sarifTextJSON struct {
	Text string `json:"text"`
}

type sarifResultJSON struct {
	RuleID    string              `json:"ruleId"`
	RuleIndex int                 `json:"ruleIndex"`
	Level     string              `json:"level"`
	Message   sarifTextJSON       `json:"message"`
	Locations []sarifLocationJSON `json:"locations"`
}

// sarifLocationJSON is a snapshot: the store is the artifact, for a viewer that wants one.
type sarifLocationJSON struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
	} `json:"physicalLocation"`
	Logical []sarifLogicalJSON `json:"logicalLocations"`
}

type sarifLogicalJSON struct {
	Name  string `json:"name"`
	Whole string `json:"fullyQualifiedName"`
}

// writeSARIF returns the results as SARIF 2.1.0.
func writeSARIF(c *checkJSON) ([]byte, error) {
	run := sarifRunJSON{Results: []sarifResultJSON{}}
	run.Tool.Driver = sarifDriverJSON{"hindcast", []sarifRuleJSON{}}
	for _, rule := range c.Rules {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules,
			sarifRuleJSON{printable.String(rule.Name), sarifTextJSON{printable.String(firstOf(rule.Says, rule.Name))}, sarifLevelJSON{rule.Level}})
	}
	for i := range c.Runs {
		r := &c.Runs[i]
		for k, rule := range c.Rules {
			for _, b := range r.breachesOf(rule.Name) {
				result := sarifResultJSON{RuleID: printable.String(rule.Name), RuleIndex: k, Level: rule.Level, Message: sarifTextJSON{printable.String(firstOf(b.Text, rule.Name))}}
				if b.Error {
					result.Level = levelError
				}
				at := sarifLocationJSON{Logical: []sarifLogicalJSON{{firstOf(b.Name, r.Name), r.SessionID + " " + firstOf(b.Name, r.Name)}}}
				at.Physical.Artifact.URI = storeURI(r.Store)
				result.Locations = []sarifLocationJSON{at}
				run.Results = append(run.Results, result)
			}
		}
	}
	data, err := encodeJSON(sarifJSON{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRunJSON{run}})
	return append(data, '\n'), err
}

// storeURI returns the address of a store as a reference of RFC 3986.
func storeURI(address string) string {
	if strings.Contains(address, "://") {
		if u, err := url.Parse(address); err == nil {
			return u.String()
		}
	}
	return (&url.URL{Path: filepath.ToSlash(address)}).String()
}

// firstOf returns the first text that says something.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return "-"
}
