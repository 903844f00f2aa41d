package timeline

import (
	"fmt"
	"strings"
	"testing"

	"hindcast/keymap"
	"hindcast/model"
)

// labelsOf returns labels of some of the headers, called by their numbers.
func labelsOf(headers []model.Header, numbers ...int) (list []model.Label) {
	for _, i := range numbers {
		list = append(list, model.Label{ID: headers[i].ID, Visit: headers[i].Visit, Name: fmt.Sprint("n", i), Note: "note"})
	}
	return list
}

// Labels stand in their rows and in the scrubber, over an error, and below the head.
func TestLabels_areDrawn(t *testing.T) {
	headers := trip(t)
	headers[3].Marks |= model.MarkError
	p := pane(t, headers, 60, 22)
	p.SetLabels(PlaceLabels(p.t, labelsOf(headers, 3, 6, 17)))
	p.Select(6)
	got := picture(t, p, 60, 22)
	for _, want := range []string{"✗ (n3) book_hotel", "(n6) book_event", "(n17) the trip", " turn 3 · ◊ n6 note · ◌ #6.1 left"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	if got, want := scrubbed(t, p, 41), "━━━━━━◊━━━━┬━━━▌─┴─────────┬──────┴─────◉"; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	p.Do(keymap.Top)
	p.SetLabels(Labels{})
	if got := scrubbed(t, p, 41); strings.Contains(got, "◊") {
		t.Errorf("the labels stay: %s", got)
	}
	long := labelsOf(headers, 0)
	long[0].Name = strings.Repeat("long", 20)
	p.SetLabels(PlaceLabels(p.t, long))
	if got := picture(t, p, 60, 22); !strings.Contains(got, "…") {
		t.Errorf("a long label is not cut:\n%s", got)
	}
}

// Where another timeline takes the place of the one that shows, labels whose snapshots stand
// in the same place from either end stay, and the others wait to be placed anew.
func TestLabels_stayInAnotherTimeline(t *testing.T) {
	headers := trip(t)
	p := pane(t, headers[10:], 80, 12) // the newest, before the others are read
	p.SetLabels(PlaceLabels(p.t, append(labelsOf(headers, 12, 17), labelsOf(headers, 3)...)))
	if !p.Labels().Lacking() || len(p.Labels().Nodes()) != 2 {
		t.Errorf("in a part: %+v", p.Labels())
	}
	p.Set(Prepare(model.NewTimeline(headers)))
	if got := p.Labels(); got.Find("n12") != 12 || got.Find("n17") != 17 || got.Find("n3") != model.NoNode || !got.Lacking() {
		t.Errorf("in the whole: %+v", got)
	}
	p.SetLabels(PlaceLabels(p.t, labelsOf(headers, 3)))
	if got := p.Labels(); got.Find("n3") != 3 || got.Lacking() {
		t.Errorf("placed anew: %+v", got)
	}
	other := trip(t)[:5]
	for i := range other {
		other[i].SessionID = "other"
	}
	p.Set(Prepare(model.NewTimeline(other)))
	if got := p.Labels(); len(got.Nodes()) != 0 {
		t.Errorf("in another session: %+v", got)
	}
}

func TestLabels_areFound(t *testing.T) {
	headers := trip(t)
	p := pane(t, headers, 80, 12)
	labels := PlaceLabels(p.t, append(labelsOf(headers, 3, 13), model.Label{ID: headers[5].ID, Visit: headers[5].Visit, Name: "Opera"}))
	for query, want := range map[string]string{"label:": "[3 5 13]", "label:n1": "[13]", "label:oper": "[5]", "note": "[3 13]", "label:note": "[]", "OPERA": "[5 6 7]"} {
		m, err := Find(t.Context(), p.c, labels, query)
		if got := fmt.Sprint(m.nodes); err != nil || got != want {
			t.Errorf("%s: %s, want %s, %v", query, got, want, err)
		}
	}
}

// TestSaid_isToldAndFound: the line at the bottom tells what the program says about the snapshot under the cursor.
func TestSaid_isToldAndFound(t *testing.T) {
	headers := trip(t)
	headers[6].Alias, headers[6].Attributes = "order-7", `{"status":"pend\u001b[2J"}`
	p := pane(t, headers, 100, 22)
	p.Select(6)
	if got := picture(t, p, 100, 22); !strings.Contains(got, "{order-7, status=pend") || strings.Contains(got, "\x1b[2J") {
		t.Errorf("it tells not:\n%s", got)
	}
	found, err := Find(t.Context(), p.c, Labels{}, "ORDER-7")
	if err != nil || fmt.Sprint(found.nodes) != "[6]" {
		t.Errorf("found %v, %v", found.nodes, err)
	}
}
