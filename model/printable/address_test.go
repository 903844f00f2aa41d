package printable_test

import (
	"strings"
	"testing"

	"hindcast/model/printable"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		`open s3://AKIA:SECRET@bucket/x: no`:             `open s3://***@bucket/x: no`,
		`open s3://AKIA:SEC/RET+x@bucket/x: no`:          `open s3://***@bucket/x: no`,
		`"http://user:SECRET@host:99/x" is none`:         `"http://user:***@host:99/x" is none`,
		`https://SECRET@host/x`:                          `https://***@host/x`,
		`postgres://u:SECRET@h/d?sslmode=x`:              `postgres://u:***@h/d?sslmode=x`,
		`postgres://u:SE/CR@ET@h/d`:                      `postgres://u:***@h/d`,
		`adk:postgres://u:SECRET@h/d, redis://:SECRET@h`: `adk:postgres://u:***@h/d, redis://:***@h`,
		`postgres://u@h/d?password=SECRET&x=1`:           `postgres://u@h/d?password=***&x=1`,
		`https://h/x?Token=SECRET&sas_SIGNATURE=SECRET`:  `https://h/x?Token=***&sas_SIGNATURE=***`,
		`strands: open "mysql://u:SECRET@h/d"`:           `strands: open "mysql://u:***@h/d"`,
		`http://127.0.0.1:3100/a@b, s3://bucket/a@b`:     `http://127.0.0.1:3100/a@b, s3://bucket/a@b`,
		`user:pw@host, no address; a://`:                 `user:pw@host, no address; a://`,
		``:                                               ``,
	} {
		got := printable.Addresses(text)
		if got != want || strings.Contains(got, "SECRET") {
			t.Errorf("%s became %s, and not %s", text, got, want)
		}
		if again := printable.Addresses(got); again != got {
			t.Errorf("again, %s became %s", got, again)
		}
	}
}
