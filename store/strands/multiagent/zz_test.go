package multiagent
import ("testing";"os";"fmt";"hindcast/model/jsontape")
func TestDump(t *testing.T){
 for _,f:=range []string{"python-multiagent/session_graph_done/multi_agents/multi_agent_g1/multi_agent.json","python-multiagent/session_graph_interrupted/multi_agents/multi_agent_g1/multi_agent.json","python-multiagent/session_swarm_done/multi_agents/multi_agent_s1/multi_agent.json","typescript/unified/session/graph-done/scopes/multiAgent/g1/snapshots/snapshot_latest.json"}{
 d,err:=os.ReadFile("/work/shared/fixtures/strands/"+f)
 if err!=nil{t.Fatal(err)}
 tp,_,_:=jsontape.ParseTolerant(d)
 n:=tp.Lookup("data","state"); if n<0 {n=0}
 r:=Decode(tp,n,Place{Session:"s",File:f})
 fmt.Println("==",f, r.Summary())
 for i,h:=range r.Headers(){ fmt.Println(h.ID[:8],h.Index,h.EventName,h.Title,h.Marks.Names(),h.Size,len(r.State(i)),h.CreatedAt); fmt.Println("   ",string(r.State(i))); for _,x:=range r.Facts(i){fmt.Println("      ",x.Label,":",x.Value)}}
 fmt.Println(r.Faults())
 }
}
