--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: ai; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA ai;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: agno_runs; Type: TABLE; Schema: ai; Owner: -
--

CREATE TABLE ai.agno_runs (
    run_id character varying NOT NULL,
    session_id character varying NOT NULL,
    run_type character varying NOT NULL,
    agent_id character varying,
    team_id character varying,
    workflow_id character varying,
    user_id character varying,
    parent_run_id character varying,
    status character varying,
    run_index bigint,
    run_data jsonb NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint
);


--
-- Name: agno_schema_versions; Type: TABLE; Schema: ai; Owner: -
--

CREATE TABLE ai.agno_schema_versions (
    table_name character varying NOT NULL,
    version character varying NOT NULL,
    created_at character varying NOT NULL,
    updated_at character varying
);


--
-- Name: agno_sessions; Type: TABLE; Schema: ai; Owner: -
--

CREATE TABLE ai.agno_sessions (
    session_id character varying NOT NULL,
    session_type character varying NOT NULL,
    agent_id character varying,
    team_id character varying,
    workflow_id character varying,
    user_id character varying,
    session_data jsonb,
    agent_data jsonb,
    team_data jsonb,
    workflow_data jsonb,
    metadata jsonb,
    summary jsonb,
    created_at bigint NOT NULL,
    updated_at bigint
);


--
-- Data for Name: agno_runs; Type: TABLE DATA; Schema: ai; Owner: -
--

INSERT INTO ai.agno_runs VALUES ('4ce7f471-d711-4f94-9039-f9e33df4e2be', 'tour', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 0, '{"input": {"input_content": "hello größe"}, "model": "scripted", "tools": [], "run_id": "4ce7f471-d711-4f94-9039-f9e33df4e2be", "status": "COMPLETED", "content": "said hello größe ☂", "metrics": {"duration": 0.020023802004288882, "time_to_first_token": 0.01990883200778626}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "3b22ef2a-9b5f-4589-aca0-25f56dc308a5", "role": "user", "content": "hello größe", "created_at": 1796037082, "from_history": false, "stop_after_tool_call": false}, {"id": "8a592c82-a2f6-4bb8-9ff9-7fa14d5be821", "role": "assistant", "content": "said hello größe ☂", "metrics": {"time_to_first_token": 0.00007391899998765439}, "created_at": 1796037082, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037082, "session_id": "tour", "content_type": "str", "session_state": {"basket": []}, "model_provider": "Scripted"}', 1796037082, 1796037083);
INSERT INTO ai.agno_runs VALUES ('94f0ef21-7d4b-40d1-9fba-98bb619fcfbd', 'tour', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 1, '{"input": {"input_content": "call weather {\"city\":\"Oslo\"}"}, "model": "scripted", "tools": [{"result": "rain in Oslo", "metrics": {"duration": 0.0011979330010944977, "end_time": 1796037083.739037, "start_time": 1796037083.7378392}, "answered": null, "confirmed": null, "tool_args": {"city": "Oslo"}, "tool_name": "weather", "created_at": 1796037083, "approval_id": null, "child_run_id": null, "tool_call_id": "c2", "approval_type": null, "tool_call_error": false, "confirmation_note": null, "user_input_schema": null, "parent_tool_call_id": null, "requires_user_input": null, "stop_after_tool_call": false, "user_feedback_schema": null, "requires_confirmation": null, "external_execution_silent": null, "external_execution_required": null}], "run_id": "94f0ef21-7d4b-40d1-9fba-98bb619fcfbd", "status": "COMPLETED", "content": "said rain in Oslo ☂", "metrics": {"duration": 0.1815832130087074, "time_to_first_token": 0.0010006009979406372}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "9a71e046-94f4-41fa-9941-d99f43120500", "role": "user", "content": "call weather {\"city\":\"Oslo\"}", "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}, {"id": "42eaf10f-1551-4e35-9e85-99c4eb58b7b9", "role": "assistant", "created_at": 1796037083, "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}}], "from_history": false, "stop_after_tool_call": false}, {"id": "9f98cc8c-377d-414d-9d1e-2221b27c7b73", "role": "tool", "content": "rain in Oslo", "tool_args": {"city": "Oslo"}, "tool_name": "weather", "created_at": 1796037083, "from_history": false, "tool_call_id": "c2", "tool_call_error": false, "stop_after_tool_call": false}, {"id": "3a530853-c336-4fd5-a1f4-64a7cc8e6da8", "role": "assistant", "content": "said rain in Oslo ☂", "metrics": {"time_to_first_token": 0.000023204003809951246}, "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037083, "session_id": "tour", "content_type": "str", "session_state": {"basket": []}, "model_provider": "Scripted"}', 1796037083, 1796037083);
INSERT INTO ai.agno_runs VALUES ('aa383822-c739-4723-b8db-aa6613f3b24e', 'tour', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 2, '{"input": {"input_content": "call remember {\"that\":\"egg\"}"}, "model": "scripted", "tools": [{"result": "2 validation errors for remember\nwhat\n  Missing required argument [type=missing_argument, input_value=ArgsKwargs((), {''run_cont...s=None), ''that'': ''egg''}), input_type=ArgsKwargs]\n    For further information visit https://errors.pydantic.dev/2.14/v/missing_argument\nthat\n  Unexpected keyword argument [type=unexpected_keyword_argument, input_value=''egg'', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.14/v/unexpected_keyword_argument", "metrics": {"duration": 0.003765224988455884, "end_time": 1796037083.7691255, "start_time": 1796037083.7653604}, "answered": null, "confirmed": null, "tool_args": {"that": "egg"}, "tool_name": "remember", "created_at": 1796037083, "approval_id": null, "child_run_id": null, "tool_call_id": "c4", "approval_type": null, "tool_call_error": true, "confirmation_note": null, "user_input_schema": null, "parent_tool_call_id": null, "requires_user_input": null, "stop_after_tool_call": false, "user_feedback_schema": null, "requires_confirmation": null, "external_execution_silent": null, "external_execution_required": null}], "run_id": "aa383822-c739-4723-b8db-aa6613f3b24e", "status": "COMPLETED", "content": "said 2 validation errors for rememb ☂", "metrics": {"duration": 0.005066622994490899, "time_to_first_token": 0.0009299269877374172}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "9bd8cb61-ccce-47cc-90a9-7a0bb6652523", "role": "user", "content": "call remember {\"that\":\"egg\"}", "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}, {"id": "55f6ab0e-ad93-4b53-b68e-02350793db1c", "role": "assistant", "created_at": 1796037083, "tool_calls": [{"id": "c4", "type": "function", "function": {"name": "remember", "arguments": "{\"that\":\"egg\"}"}}], "from_history": false, "stop_after_tool_call": false}, {"id": "24e3463b-b134-4a1d-97f8-e7c580b92033", "role": "tool", "content": "2 validation errors for remember\nwhat\n  Missing required argument [type=missing_argument, input_value=ArgsKwargs((), {''run_cont...s=None), ''that'': ''egg''}), input_type=ArgsKwargs]\n    For further information visit https://errors.pydantic.dev/2.14/v/missing_argument\nthat\n  Unexpected keyword argument [type=unexpected_keyword_argument, input_value=''egg'', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.14/v/unexpected_keyword_argument", "tool_args": {"that": "egg"}, "tool_name": "remember", "created_at": 1796037083, "from_history": false, "tool_call_id": "c4", "tool_call_error": true, "stop_after_tool_call": false}, {"id": "97546960-39bf-44bb-ab51-86646b7626f4", "role": "assistant", "content": "said 2 validation errors for rememb ☂", "metrics": {"time_to_first_token": 0.00004745999467559159}, "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037083, "session_id": "tour", "content_type": "str", "session_state": {"basket": []}, "model_provider": "Scripted"}', 1796037083, 1796037083);
INSERT INTO ai.agno_runs VALUES ('ab3fb809-ef71-46a8-bbf5-e4808d343d81', 'tour', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 3, '{"input": {"input_content": "call boom {\"why\":\"x\"}"}, "model": "scripted", "tools": [{"result": "boom x", "metrics": {"duration": 0.008457994990749285, "end_time": 1796037083.8055093, "start_time": 1796037083.7970514}, "answered": null, "confirmed": null, "tool_args": {"why": "x"}, "tool_name": "boom", "created_at": 1796037083, "approval_id": null, "child_run_id": null, "tool_call_id": "c6", "approval_type": null, "tool_call_error": true, "confirmation_note": null, "user_input_schema": null, "parent_tool_call_id": null, "requires_user_input": null, "stop_after_tool_call": false, "user_feedback_schema": null, "requires_confirmation": null, "external_execution_silent": null, "external_execution_required": null}], "run_id": "ab3fb809-ef71-46a8-bbf5-e4808d343d81", "status": "COMPLETED", "content": "said boom x ☂", "metrics": {"duration": 0.009411888007889502, "time_to_first_token": 0.0006261380040086806}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "6db4da7e-fde6-4ac6-b694-083d73acb29f", "role": "user", "content": "call boom {\"why\":\"x\"}", "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}, {"id": "3f359699-3101-40b1-b9ef-8220d4bd2a84", "role": "assistant", "created_at": 1796037083, "tool_calls": [{"id": "c6", "type": "function", "function": {"name": "boom", "arguments": "{\"why\":\"x\"}"}}], "from_history": false, "stop_after_tool_call": false}, {"id": "fbe80b79-bfe2-4cca-8b04-1771fe044992", "role": "tool", "content": "boom x", "tool_args": {"why": "x"}, "tool_name": "boom", "created_at": 1796037083, "from_history": false, "tool_call_id": "c6", "tool_call_error": true, "stop_after_tool_call": false}, {"id": "a5fcc273-362f-4a2c-904e-78732cb92ad8", "role": "assistant", "content": "said boom x ☂", "metrics": {"time_to_first_token": 0.000021371000912040472}, "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037083, "session_id": "tour", "content_type": "str", "session_state": {"basket": []}, "model_provider": "Scripted"}', 1796037083, 1796037083);
INSERT INTO ai.agno_runs VALUES ('8c0f20b5-6bdf-4e9a-830f-4c64d1b89f08', 'tour', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 4, '{"input": {"input_content": "call pay {\"n\":4}"}, "model": "scripted", "tools": [{"result": null, "metrics": null, "answered": null, "confirmed": false, "tool_args": {"n": 4}, "tool_name": "pay", "created_at": 1796037083, "approval_id": null, "child_run_id": null, "tool_call_id": "c8", "approval_type": null, "tool_call_error": true, "confirmation_note": "Tool call was rejected", "user_input_schema": null, "parent_tool_call_id": null, "requires_user_input": null, "stop_after_tool_call": false, "user_feedback_schema": null, "requires_confirmation": false, "external_execution_silent": null, "external_execution_required": null}], "events": [], "run_id": "8c0f20b5-6bdf-4e9a-830f-4c64d1b89f08", "status": "COMPLETED", "content": "said Function call was rejected by  ☂", "metrics": {"duration": 0.0008524820004822686, "time_to_first_token": 0.0007175520004238933}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "751a0841-deb1-490b-b1c8-fdc4039c2760", "role": "user", "content": "call pay {\"n\":4}", "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}, {"id": "f890845e-1d98-4f60-abdb-363c002dc51f", "role": "assistant", "created_at": 1796037083, "tool_calls": [{"id": "c8", "type": "function", "function": {"name": "pay", "arguments": "{\"n\":4}"}}], "from_history": false, "stop_after_tool_call": false}, {"id": "e303f5bd-9600-4503-8495-a55dc30e7282", "role": "tool", "content": "Function call was rejected by the user", "tool_args": {"n": 4}, "tool_name": "pay", "created_at": 1796037083, "from_history": false, "tool_call_id": "c8", "tool_call_error": true, "stop_after_tool_call": false}, {"id": "25adfa26-4ae3-4c00-99c6-ba2588c01b58", "role": "assistant", "content": "said Function call was rejected by  ☂", "metrics": {"time_to_first_token": 0.00004068999260198325}, "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037083, "session_id": "tour", "content_type": "str", "requirements": [{"id": "6a48800a-0707-4ebe-865a-bb89b080b915", "created_at": "2026-11-30T11:11:23.834888+00:00", "tool_execution": {"result": null, "metrics": null, "answered": null, "confirmed": null, "tool_args": {"n": 4}, "tool_name": "pay", "created_at": 1796037083, "approval_id": null, "child_run_id": null, "tool_call_id": "c8", "approval_type": null, "tool_call_error": null, "confirmation_note": null, "user_input_schema": null, "parent_tool_call_id": null, "requires_user_input": null, "stop_after_tool_call": false, "user_feedback_schema": null, "requires_confirmation": true, "external_execution_silent": null, "external_execution_required": null}}], "session_state": {"basket": []}, "model_provider": "Scripted"}', 1796037083, 1796037083);
INSERT INTO ai.agno_runs VALUES ('ef4a3fbf-df39-4ed7-9d56-5fe7250780fd', 'waits', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'PAUSED', 0, '{"input": {"input_content": "call pay {\"n\":3}"}, "model": "scripted", "tools": [{"result": null, "metrics": null, "answered": null, "confirmed": null, "tool_args": {"n": 3}, "tool_name": "pay", "created_at": 1796037083, "approval_id": null, "child_run_id": null, "tool_call_id": "c10", "approval_type": null, "tool_call_error": null, "confirmation_note": null, "user_input_schema": null, "parent_tool_call_id": null, "requires_user_input": null, "stop_after_tool_call": false, "user_feedback_schema": null, "requires_confirmation": true, "external_execution_silent": null, "external_execution_required": null}], "run_id": "ef4a3fbf-df39-4ed7-9d56-5fe7250780fd", "status": "PAUSED", "content": "I have tools to execute, but I need confirmation.", "metrics": {"duration": 0.0008551859937142581, "time_to_first_token": 0.0006930160016054288}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "035d1a99-e878-47ac-bffe-93495eb0eecf", "role": "user", "content": "call pay {\"n\":3}", "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}, {"id": "04366a62-a36a-4e44-a51d-a100823d8f65", "role": "assistant", "created_at": 1796037083, "tool_calls": [{"id": "c10", "type": "function", "function": {"name": "pay", "arguments": "{\"n\":3}"}}], "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037083, "session_id": "waits", "content_type": "str", "requirements": [{"id": "fbe9e3f3-100c-4c18-ac93-69eebdcdb4fd", "created_at": "2026-11-30T11:11:23.962559+00:00", "tool_execution": {"result": null, "metrics": null, "answered": null, "confirmed": null, "tool_args": {"n": 3}, "tool_name": "pay", "created_at": 1796037083, "approval_id": null, "child_run_id": null, "tool_call_id": "c10", "approval_type": null, "tool_call_error": null, "confirmation_note": null, "user_input_schema": null, "parent_tool_call_id": null, "requires_user_input": null, "stop_after_tool_call": false, "user_feedback_schema": null, "requires_confirmation": true, "external_execution_silent": null, "external_execution_required": null}}], "session_state": {"basket": []}, "model_provider": "Scripted"}', 1796037083, 1796037083);
INSERT INTO ai.agno_runs VALUES ('8b3deea2-1c47-4499-81a1-0964303e9f17', 'tree', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 0, '{"input": {"input_content": "one"}, "model": "scripted", "tools": [], "run_id": "8b3deea2-1c47-4499-81a1-0964303e9f17", "status": "COMPLETED", "content": "said one ☂", "metrics": {"duration": 0.0007317240088013932, "time_to_first_token": 0.0006281000096350908}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "9c28b278-7839-4c8e-997a-ad6dddddf3b3", "role": "user", "content": "one", "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}, {"id": "681f4ecc-4a87-4867-a85e-c87ec9e8a6f2", "role": "assistant", "content": "said one ☂", "metrics": {"time_to_first_token": 0.00001641499693505466}, "created_at": 1796037083, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037083, "session_id": "tree", "content_type": "str", "session_state": {"basket": []}, "model_provider": "Scripted"}', 1796037083, 1796037083);
INSERT INTO ai.agno_runs VALUES ('259b9650-ede8-432f-abda-1b5ea311f6c7', 'tree', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 1, '{"input": {"input_content": "call remember {\"what\":\"egg\"}"}, "model": "scripted", "tools": [{"result": "ok", "metrics": {"duration": 0.0002913920034188777, "end_time": 1796037084.0497627, "start_time": 1796037084.0494714}, "answered": null, "confirmed": null, "tool_args": {"what": "egg"}, "tool_name": "remember", "created_at": 1796037084, "approval_id": null, "child_run_id": null, "tool_call_id": "c12", "approval_type": null, "tool_call_error": false, "confirmation_note": null, "user_input_schema": null, "parent_tool_call_id": null, "requires_user_input": null, "stop_after_tool_call": false, "user_feedback_schema": null, "requires_confirmation": null, "external_execution_silent": null, "external_execution_required": null}], "run_id": "259b9650-ede8-432f-abda-1b5ea311f6c7", "status": "COMPLETED", "content": "said ok ☂", "metrics": {"duration": 0.0021760030067525804, "time_to_first_token": 0.0016101250075735152}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "46ca53d0-855f-4576-97dd-cf40115f810d", "role": "user", "content": "call remember {\"what\":\"egg\"}", "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}, {"id": "79b208f4-b7a0-48dc-b21f-3249a9e5edf6", "role": "assistant", "created_at": 1796037084, "tool_calls": [{"id": "c12", "type": "function", "function": {"name": "remember", "arguments": "{\"what\":\"egg\"}"}}], "from_history": false, "stop_after_tool_call": false}, {"id": "7c6b6220-8734-44d2-bd33-a266c0f7b23a", "role": "tool", "content": "ok", "tool_args": {"what": "egg"}, "tool_name": "remember", "created_at": 1796037084, "from_history": false, "tool_call_id": "c12", "tool_call_error": false, "stop_after_tool_call": false}, {"id": "ee212063-cc2d-440c-9b64-7e151f4dfe5e", "role": "assistant", "content": "said ok ☂", "metrics": {"time_to_first_token": 0.000011096999514847994}, "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037084, "session_id": "tree", "content_type": "str", "session_state": {"basket": ["egg"]}, "model_provider": "Scripted"}', 1796037084, 1796037084);
INSERT INTO ai.agno_runs VALUES ('90faf308-41c3-424d-902d-8009f6530738', 'tree', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'REGENERATED', 2, '{"input": {"input_content": "three"}, "model": "scripted", "events": [], "run_id": "90faf308-41c3-424d-902d-8009f6530738", "status": "REGENERATED", "content": "said three ☂", "metrics": {"duration": 0.0008364389941561967, "time_to_first_token": 0.0007893989968579262}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "eb525e54-e5ec-4b97-9b09-3b0b5ffe44a7", "role": "user", "content": "three", "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}, {"id": "9acc57f3-5455-4f1c-9cbd-eb8294d40439", "role": "assistant", "content": "said three ☂", "metrics": {"time_to_first_token": 0.000019548999262042344}, "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037084, "session_id": "tree", "content_type": "str", "session_state": {"basket": ["egg"]}, "model_provider": "Scripted"}', 1796037084, 1796037084);
INSERT INTO ai.agno_runs VALUES ('6d7caad7-d568-4a7f-9e1a-78804af12799', 'tree', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 3, '{"input": {"input_content": "three"}, "model": "scripted", "tools": [], "run_id": "6d7caad7-d568-4a7f-9e1a-78804af12799", "status": "COMPLETED", "content": "said three ☂", "metrics": {"duration": 0.004714860988315195, "time_to_first_token": 0.004680471000028774}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "eb525e54-e5ec-4b97-9b09-3b0b5ffe44a7", "role": "user", "content": "three", "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}, {"id": "74979f07-d420-42f7-a524-81b1c9996567", "role": "assistant", "content": "said three ☂", "metrics": {"time_to_first_token": 0.000019628991140052676}, "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037084, "session_id": "tree", "content_type": "str", "session_state": {"basket": ["egg"]}, "model_provider": "Scripted", "regenerated_from": "90faf308-41c3-424d-902d-8009f6530738", "forked_from_run_id": "90faf308-41c3-424d-902d-8009f6530738", "forked_from_message_index": 1, "last_checkpoint_at_message_index": 1}', 1796037084, 1796037084);
INSERT INTO ai.agno_runs VALUES ('21ff2e67-5f52-4be4-af2d-32ed2af93dcf', 'tree', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 4, '{"input": {"input_content": "three"}, "model": "scripted", "tools": [], "run_id": "21ff2e67-5f52-4be4-af2d-32ed2af93dcf", "status": "COMPLETED", "content": "said said three ☂ ☂", "metrics": {"duration": 0.0009477130079176277, "time_to_first_token": 0.0008808040001895279}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "eb525e54-e5ec-4b97-9b09-3b0b5ffe44a7", "role": "user", "content": "three", "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}, {"id": "9acc57f3-5455-4f1c-9cbd-eb8294d40439", "role": "assistant", "content": "said three ☂", "metrics": {"time_to_first_token": 0.000019548999262042344}, "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}, {"id": "95c77d0d-836d-4fb9-a01b-e76b50909d4b", "role": "assistant", "content": "said said three ☂ ☂", "metrics": {"time_to_first_token": 0.000018196995370090008}, "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037084, "session_id": "tree", "content_type": "str", "session_state": {"basket": ["egg"]}, "model_provider": "Scripted", "forked_from_run_id": "90faf308-41c3-424d-902d-8009f6530738", "forked_from_message_index": 2}', 1796037084, 1796037084);
INSERT INTO ai.agno_runs VALUES ('6e98018b-2040-4b29-82bc-209e65174975', 'tree', 'agent', 'helper', NULL, NULL, 'u1', NULL, 'COMPLETED', 5, '{"input": {"input_content": "after"}, "model": "scripted", "tools": [], "run_id": "6e98018b-2040-4b29-82bc-209e65174975", "status": "COMPLETED", "content": "said after ☂", "metrics": {"duration": 0.0006915139965713024, "time_to_first_token": 0.0006555309955729172}, "user_id": "u1", "agent_id": "helper", "messages": [{"id": "5eed1d2c-05ba-45c1-854d-a1b248e39bce", "role": "user", "content": "after", "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}, {"id": "9e7b9589-ec8f-407f-a066-497810a2ca0a", "role": "assistant", "content": "said after ☂", "metrics": {"time_to_first_token": 0.000016824997146613896}, "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}], "agent_name": "helper", "created_at": 1796037084, "session_id": "tree", "content_type": "str", "session_state": {"basket": ["egg"]}, "model_provider": "Scripted"}', 1796037084, 1796037084);
INSERT INTO ai.agno_runs VALUES ('421bb2bb-117a-4178-9f82-47c51da29344', 'team', 'agent', 'sky', NULL, NULL, 'u1', 'e1f80fb6-7f43-4d00-8327-1316b2486c91', 'COMPLETED', 0, '{"input": {"input_content": "look up"}, "model": "scripted", "tools": [], "run_id": "421bb2bb-117a-4178-9f82-47c51da29344", "status": "COMPLETED", "content": "said look up ☂", "metrics": {"duration": 0.0003091169928666204, "time_to_first_token": 0.0002703299978747964}, "user_id": "u1", "agent_id": "sky", "messages": [{"id": "88b2e091-36ee-4003-94ef-c392c8f39c25", "role": "user", "content": "look up", "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}, {"id": "f28b6f09-d63f-49b5-9920-0d7c4ef15db7", "role": "assistant", "content": "said look up ☂", "metrics": {"time_to_first_token": 0.00006408500485122204}, "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}], "agent_name": "sky", "created_at": 1796037084, "session_id": "team", "content_type": "str", "parent_run_id": "e1f80fb6-7f43-4d00-8327-1316b2486c91", "session_state": {"current_run_id": "421bb2bb-117a-4178-9f82-47c51da29344", "current_user_id": "u1", "current_session_id": "team"}, "model_provider": "Scripted"}', 1796037084, 1796037084);
INSERT INTO ai.agno_runs VALUES ('e1f80fb6-7f43-4d00-8327-1316b2486c91', 'team', 'team', NULL, 'team', NULL, 'u1', NULL, 'COMPLETED', 1, '{"input": {"input_content": "call delegate_task_to_member {\"member_id\":\"sky\",\"task\":\"look up\"}"}, "model": "scripted", "tools": [{"result": "said look up ☂", "metrics": {"duration": 0.0010977960046147928, "end_time": 1796037084.279094, "start_time": 1796037084.2779963}, "answered": null, "confirmed": null, "tool_args": {"task": "look up", "member_id": "sky"}, "tool_name": "delegate_task_to_member", "created_at": 1796037084, "approval_id": null, "child_run_id": null, "tool_call_id": "c18", "approval_type": null, "tool_call_error": false, "confirmation_note": null, "user_input_schema": null, "parent_tool_call_id": null, "requires_user_input": null, "stop_after_tool_call": false, "user_feedback_schema": null, "requires_confirmation": null, "external_execution_silent": null, "external_execution_required": null}], "run_id": "e1f80fb6-7f43-4d00-8327-1316b2486c91", "status": "COMPLETED", "content": "said said look up ☂ ☂", "metrics": {"duration": 0.013556104007875547, "time_to_first_token": 0.011204151000129059}, "team_id": "team", "user_id": "u1", "messages": [{"id": "bbac2b1c-6db5-4ab9-b9f0-6c57e3322674", "role": "system", "content": "<team>\nYou coordinate this team to fulfill the user''s request. You have a team of specialists, listed below. Delegate to members when their expertise or tools are needed; answer directly — including with your own tools — when they are not.\n\n<team_members>\n<member id=\"sky\" name=\"sky\">\n</member>\n</team_members>\n\n<delegation>\nYou work in coordinate mode: you hand sub-tasks to members with `delegate_task_to_member` and write the answer yourself.\n\n- Match each sub-task to the member whose role and description fit it best. When sub-tasks do not depend on each other, delegate them in the same turn instead of one per turn.\n- A member''s output is evidence, not your answer. When a member fails, refuses, or returns nothing, say so plainly and name what it reported — never supply a cause, source, or finding the member did not state.\n- If a response is off-target, re-delegate with clearer instructions or try a better-suited member. If it still misses, answer with what you have and say what is missing — do not work through the roster.\n- Write one answer. Resolve contradictions, add structure, and fill gaps only where you can state the basis for it. Never concatenate member outputs.\n\nMembers do not see this conversation. Each one gets only the text you write for it, so carry over every name, number and earlier answer it needs, and say what a good result looks like.\nMember ids are the ids shown in the roster above, used exactly as written.\n</delegation>\n</team>", "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}, {"id": "689216fa-3157-41c2-8404-622ee0ec978b", "role": "user", "content": "call delegate_task_to_member {\"member_id\":\"sky\",\"task\":\"look up\"}", "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}, {"id": "dac762c8-dfb0-4e06-aa52-d6b2b4735f18", "role": "assistant", "created_at": 1796037084, "tool_calls": [{"id": "c18", "type": "function", "function": {"name": "delegate_task_to_member", "arguments": "{\"member_id\":\"sky\",\"task\":\"look up\"}"}}], "from_history": false, "stop_after_tool_call": false}, {"id": "eeca34a7-d1e4-4aa4-b55a-fd2e811bad9f", "role": "tool", "content": "said look up ☂", "tool_args": {"task": "look up", "member_id": "sky"}, "tool_name": "delegate_task_to_member", "created_at": 1796037084, "from_history": false, "tool_call_id": "c18", "tool_call_error": false, "stop_after_tool_call": false}, {"id": "5c6a3be8-7327-49a8-a7a8-38b25b815ad9", "role": "assistant", "content": "said said look up ☂ ☂", "metrics": {"time_to_first_token": 0.000014029996236786246}, "created_at": 1796037084, "from_history": false, "stop_after_tool_call": false}], "team_name": "team", "created_at": 1796037084, "session_id": "team", "content_type": "str", "session_state": {}, "model_provider": "Scripted", "member_responses": []}', 1796037084, 1796037084);


--
-- Data for Name: agno_schema_versions; Type: TABLE DATA; Schema: ai; Owner: -
--

INSERT INTO ai.agno_schema_versions VALUES ('agno_sessions', '3.0.0', '2026-11-30T11:11:23.176229', '2026-11-30T11:11:23.176229');
INSERT INTO ai.agno_schema_versions VALUES ('agno_runs', '3.0.0', '2026-11-30T11:11:23.463280', '2026-11-30T11:11:23.463280');


--
-- Data for Name: agno_sessions; Type: TABLE DATA; Schema: ai; Owner: -
--

INSERT INTO ai.agno_sessions VALUES ('tour', 'agent', 'helper', NULL, NULL, 'u1', '{"session_state": {"basket": []}, "session_metrics": {}}', '{"name": "helper", "model": {"id": "scripted", "name": "Scripted", "provider": "Scripted"}, "agent_id": "helper"}', NULL, NULL, 'null', 'null', 1796037082, 1796037083);
INSERT INTO ai.agno_sessions VALUES ('waits', 'agent', 'helper', NULL, NULL, 'u1', '{"session_state": {"basket": []}, "session_metrics": {}}', '{"name": "helper", "model": {"id": "scripted", "name": "Scripted", "provider": "Scripted"}, "agent_id": "helper"}', NULL, NULL, 'null', 'null', 1796037083, 1796037083);
INSERT INTO ai.agno_sessions VALUES ('tree', 'agent', 'helper', NULL, NULL, 'u1', '{"session_state": {"basket": ["egg"]}, "session_metrics": {}}', '{"name": "helper", "model": {"id": "scripted", "name": "Scripted", "provider": "Scripted"}, "agent_id": "helper"}', NULL, NULL, 'null', 'null', 1796037083, 1796037084);
INSERT INTO ai.agno_sessions VALUES ('team', 'team', NULL, 'team', NULL, 'u1', '{"session_state": {}, "session_metrics": {}}', NULL, '{"name": "team", "model": {"id": "scripted", "name": "Scripted", "provider": "Scripted"}, "team_id": "team"}', NULL, 'null', 'null', 1796037084, 1796037084);


--
-- Name: agno_runs agno_runs_pkey; Type: CONSTRAINT; Schema: ai; Owner: -
--

ALTER TABLE ONLY ai.agno_runs
    ADD CONSTRAINT agno_runs_pkey PRIMARY KEY (run_id);


--
-- Name: agno_schema_versions agno_schema_versions_pkey; Type: CONSTRAINT; Schema: ai; Owner: -
--

ALTER TABLE ONLY ai.agno_schema_versions
    ADD CONSTRAINT agno_schema_versions_pkey PRIMARY KEY (table_name);


--
-- Name: agno_sessions agno_sessions_pkey; Type: CONSTRAINT; Schema: ai; Owner: -
--

ALTER TABLE ONLY ai.agno_sessions
    ADD CONSTRAINT agno_sessions_pkey PRIMARY KEY (session_id);


--
-- Name: idx_agno_runs_agent_id; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_runs_agent_id ON ai.agno_runs USING btree (agent_id);


--
-- Name: idx_agno_runs_created_at; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_runs_created_at ON ai.agno_runs USING btree (created_at);


--
-- Name: idx_agno_runs_run_type; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_runs_run_type ON ai.agno_runs USING btree (run_type);


--
-- Name: idx_agno_runs_session_id; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_runs_session_id ON ai.agno_runs USING btree (session_id);


--
-- Name: idx_agno_runs_session_id_run_index; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_runs_session_id_run_index ON ai.agno_runs USING btree (session_id, run_index);


--
-- Name: idx_agno_runs_status; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_runs_status ON ai.agno_runs USING btree (status);


--
-- Name: idx_agno_runs_team_id; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_runs_team_id ON ai.agno_runs USING btree (team_id);


--
-- Name: idx_agno_runs_user_id; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_runs_user_id ON ai.agno_runs USING btree (user_id);


--
-- Name: idx_agno_runs_workflow_id; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_runs_workflow_id ON ai.agno_runs USING btree (workflow_id);


--
-- Name: idx_agno_schema_versions_created_at; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_schema_versions_created_at ON ai.agno_schema_versions USING btree (created_at);


--
-- Name: idx_agno_sessions_created_at; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_sessions_created_at ON ai.agno_sessions USING btree (created_at);


--
-- Name: idx_agno_sessions_session_type; Type: INDEX; Schema: ai; Owner: -
--

CREATE INDEX idx_agno_sessions_session_type ON ai.agno_sessions USING btree (session_type);


--
-- Name: agno_runs agno_runs_session_id_fkey; Type: FK CONSTRAINT; Schema: ai; Owner: -
--

ALTER TABLE ONLY ai.agno_runs
    ADD CONSTRAINT agno_runs_session_id_fkey FOREIGN KEY (session_id) REFERENCES ai.agno_sessions(session_id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


