package query

import (
	"strings"
	"testing"
)

// What an expression needs of a state. One that needs all of it is evaluated on each state.
func TestPlan(t *testing.T) {
	kinds := [...]string{"", "any", "all", "none", "count", "last"}
	text := func(r route) (pointer string) {
		for _, s := range r {
			pointer += "/" + s.key
		}
		return pointer
	}
	for expr, want := range map[string]string{
		`.plan.status == "done"`:                           "/plan/status",
		`.cart.total > 9 and .cart.total < 12`:             "/cart/total",
		`.cart | .items[0].price, .total`:                  "/cart/total /cart/items/0/price",
		`.a.b == 1 or .a == 2`:                             "/a",
		`.["a b"]."c".d?`:                                  "/a b/c/d",
		`.messages[-1].role`:                               "/messages",
		`.a[.i]`:                                           "/i /a",
		`.a as $x | .b == $x`:                              "/a /b",
		`if .a then .b else .c end`:                        "/a /b /c",
		`"\(.a) \(.b)"`:                                    "/a /b",
		`{a: .x, b, "c", $__prog: 1}`:                      "!",
		`{a: .x, b, "c"}`:                                  "/x /b /c",
		`reduce .a[] as $x (.b; . + $x)`:                   "/a /b",
		`[.a, .b] | add`:                                   "/a /b",
		`1 == 1`:                                           "",
		`.messages | length > 3`:                           "count /messages",
		`any(.messages[]; .role == "tool")`:                "any /messages",
		`all(.messages[]; .role == "tool") and .x`:         "/x all /messages",
		`.messages | any(.role == "tool")`:                 "any /messages",
		`[.messages[] | select(.role == "tool")] | length`: "count /messages",
		`.messages | map(select(.role)) | (length > 1 and length < 3)`: "count /messages count /messages",
		`isempty(.messages[] | .x)`:                                    "none /messages",
		`.messages[] | select(.role == "tool")`:                        "last /messages",
		`.messages[].role?`:                                            "/messages",
		`[.messages[] | .x] | (length > 1 and .[0] == 1)`:              "/messages",
		`(.messages | length) > 1 and .messages[0].x == 1`:             "/messages/0/x count /messages",
		`.x as $x | any(.messages[]; .role == $x)`:                     "/x /messages",
		`first(.messages[] | .x)`:                                      "/messages",
		`any(.messages[], .others[]; .x)`:                              "/messages /others",
		`.`:                                                            "all",
		`..`:                                                           "all",
		`.[]`:                                                          "all",
		`keys == ["x"]`:                                                "all",
		`.a |= 1`:                                                      "all",
		`def f: .a; f`:                                                 "all",
		`. as $s | $s.a`:                                               "all",
	} {
		x, err := ParseExpr(expr)
		if err != nil {
			if want != "!" {
				t.Errorf("%s: %v", expr, err)
			}
			continue
		}
		var got []string
		if x.plan.whole {
			got = append(got, "all")
		}
		for _, r := range x.plan.reads {
			got = append(got, text(r))
		}
		for _, f := range x.plan.folds {
			got = append(got, kinds[f.kind]+" "+text(f.list))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %q, not %q", expr, got, want)
		}
	}
}
