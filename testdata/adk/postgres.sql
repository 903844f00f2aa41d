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

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: adk_internal_metadata; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.adk_internal_metadata (
    key character varying(128) NOT NULL,
    value character varying(256) NOT NULL
);


--
-- Name: app_states; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.app_states (
    app_name character varying(128) NOT NULL,
    state jsonb NOT NULL,
    update_time timestamp without time zone NOT NULL
);


--
-- Name: events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.events (
    id character varying(128) NOT NULL,
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    session_id character varying(128) NOT NULL,
    invocation_id character varying(256) NOT NULL,
    "timestamp" timestamp without time zone NOT NULL,
    event_data jsonb
);


--
-- Name: sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sessions (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    id character varying(128) NOT NULL,
    state jsonb NOT NULL,
    create_time timestamp without time zone NOT NULL,
    update_time timestamp without time zone NOT NULL
);


--
-- Name: user_states; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.user_states (
    app_name character varying(128) NOT NULL,
    user_id character varying(128) NOT NULL,
    state jsonb NOT NULL,
    update_time timestamp without time zone NOT NULL
);


--
-- Data for Name: adk_internal_metadata; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.adk_internal_metadata VALUES ('schema_version', '1');


--
-- Data for Name: app_states; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.app_states VALUES ('tour_app', '{"tier": "gold", "motto": "größer"}', '2026-11-22 11:40:42.056714');


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.events VALUES ('a20a1fd0-a421-4973-a0eb-960b11d299cd', 'tour_app', 'u1', 'tour', 'e-d7cec084-9777-466b-a20b-5c4dfc87f803', '2026-11-22 11:40:41.390841', '{"id": "a20a1fd0-a421-4973-a0eb-960b11d299cd", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "hello größe"}]}, "node_info": {"path": ""}, "timestamp": 1795347641.3908408, "invocation_id": "e-d7cec084-9777-466b-a20b-5c4dfc87f803"}');
INSERT INTO public.events VALUES ('2b73a77c-31da-4f40-af4c-b29f38185610', 'tour_app', 'u1', 'tour', 'e-d7cec084-9777-466b-a20b-5c4dfc87f803', '2026-11-22 11:40:41.515418', '{"id": "2b73a77c-31da-4f40-af4c-b29f38185610", "author": "helfer", "actions": {"state_delta": {"last_answer": "Gern! hello größe 👋"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "Gern! hello größe 👋"}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.515418, "finish_reason": "STOP", "invocation_id": "e-d7cec084-9777-466b-a20b-5c4dfc87f803", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 16, "prompt_token_count": 11, "candidates_token_count": 5, "cached_content_token_count": 2}}');
INSERT INTO public.events VALUES ('1b4ccf45-9214-4e05-8205-3d140231ba52', 'tour_app', 'u1', 'tour', 'e-80c3ccd3-d912-4349-b948-5a81cd22069b', '2026-11-22 11:40:41.623326', '{"id": "1b4ccf45-9214-4e05-8205-3d140231ba52", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "remember this"}]}, "node_info": {"path": ""}, "timestamp": 1795347641.6233263, "invocation_id": "e-80c3ccd3-d912-4349-b948-5a81cd22069b"}');
INSERT INTO public.events VALUES ('0660646f-87bc-4b44-9a47-e5e9379d63ed', 'tour_app', 'u1', 'tour', 'e-80c3ccd3-d912-4349-b948-5a81cd22069b', '2026-11-22 11:40:41.636683', '{"id": "0660646f-87bc-4b44-9a47-e5e9379d63ed", "author": "helfer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-91089033-07f2-4283-b17b-0e35d0b5e57f", "args": {"what": "Äpfel"}, "name": "remember"}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.6366835, "finish_reason": "STOP", "invocation_id": "e-80c3ccd3-d912-4349-b948-5a81cd22069b", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 18, "prompt_token_count": 13, "candidates_token_count": 5, "cached_content_token_count": 2}, "long_running_tool_ids": []}');
INSERT INTO public.events VALUES ('47fd0182-032c-4215-97eb-80e7095eeaec', 'tour_app', 'u1', 'tour', 'e-80c3ccd3-d912-4349-b948-5a81cd22069b', '2026-11-22 11:40:41.646583', '{"id": "47fd0182-032c-4215-97eb-80e7095eeaec", "author": "helfer", "actions": {"state_delta": {"basket": ["Äpfel"], "app:motto": "größer", "user:name": "Zoë"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "adk-91089033-07f2-4283-b17b-0e35d0b5e57f", "name": "remember", "response": {"result": "ok"}}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.6465833, "invocation_id": "e-80c3ccd3-d912-4349-b948-5a81cd22069b"}');
INSERT INTO public.events VALUES ('1d600117-59a7-4401-a6de-36ad7ec0f3c7', 'tour_app', 'u1', 'tour', 'e-80c3ccd3-d912-4349-b948-5a81cd22069b', '2026-11-22 11:40:41.657553', '{"id": "1d600117-59a7-4401-a6de-36ad7ec0f3c7", "author": "helfer", "actions": {"state_delta": {"last_answer": "Ergebnis: {''result'': ''ok''}"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "Ergebnis: {''result'': ''ok''}"}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.6575527, "finish_reason": "STOP", "invocation_id": "e-80c3ccd3-d912-4349-b948-5a81cd22069b", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 20, "prompt_token_count": 15, "candidates_token_count": 5, "cached_content_token_count": 2}}');
INSERT INTO public.events VALUES ('e5f117ee-8ca6-4db7-93b8-6c9d234a6896', 'tour_app', 'u1', 'tour', 'e-4d8ce553-1012-4edb-bb51-7070e2006aee', '2026-11-22 11:40:41.671208', '{"id": "e5f117ee-8ca6-4db7-93b8-6c9d234a6896", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "both please"}]}, "node_info": {"path": ""}, "timestamp": 1795347641.671208, "invocation_id": "e-4d8ce553-1012-4edb-bb51-7070e2006aee"}');
INSERT INTO public.events VALUES ('ba2a5691-19a7-48f8-bf02-ab6ebfeeaa6f', 'tour_app', 'u1', 'tour', 'e-4d8ce553-1012-4edb-bb51-7070e2006aee', '2026-11-22 11:40:41.67873', '{"id": "ba2a5691-19a7-48f8-bf02-ab6ebfeeaa6f", "author": "helfer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-1854cdf8-d7f0-4f89-9d92-e2ae4606e4b6", "args": {"city": "東京"}, "name": "weather"}}, {"function_call": {"id": "adk-bc2267a7-50bd-467b-99ba-aed53cf882de", "args": {"city": "Zürich"}, "name": "weather"}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.67873, "finish_reason": "STOP", "invocation_id": "e-4d8ce553-1012-4edb-bb51-7070e2006aee", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 22, "prompt_token_count": 17, "candidates_token_count": 5, "cached_content_token_count": 2}, "long_running_tool_ids": []}');
INSERT INTO public.events VALUES ('21596b6e-d0ad-4886-98ee-ca15d80f224c', 'tour_app', 'u1', 'tour', 'e-4d8ce553-1012-4edb-bb51-7070e2006aee', '2026-11-22 11:40:41.700664', '{"id": "21596b6e-d0ad-4886-98ee-ca15d80f224c", "author": "helfer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "adk-1854cdf8-d7f0-4f89-9d92-e2ae4606e4b6", "name": "weather", "response": {"t": 21.5, "sky": "☀️", "city": "東京"}}}, {"function_response": {"id": "adk-bc2267a7-50bd-467b-99ba-aed53cf882de", "name": "weather", "response": {"t": 21.5, "sky": "☀️", "city": "Zürich"}}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.700664, "invocation_id": "e-4d8ce553-1012-4edb-bb51-7070e2006aee"}');
INSERT INTO public.events VALUES ('cae47508-dcd5-44de-a830-4c4557ead040', 'tour_app', 'u1', 'tour', 'e-25206fc1-a2b8-4bbc-a3f2-330a3efdb6f4', '2026-11-22 11:40:41.990808', '{"id": "cae47508-dcd5-44de-a830-4c4557ead040", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "after the rewind"}]}, "node_info": {"path": ""}, "timestamp": 1795347641.990808, "invocation_id": "e-25206fc1-a2b8-4bbc-a3f2-330a3efdb6f4"}');
INSERT INTO public.events VALUES ('28d43491-2fe6-4986-9f5b-3d51c0966bd1', 'tour_app', 'u1', 'tour', 'e-4d8ce553-1012-4edb-bb51-7070e2006aee', '2026-11-22 11:40:41.716713', '{"id": "28d43491-2fe6-4986-9f5b-3d51c0966bd1", "author": "helfer", "actions": {"state_delta": {"last_answer": "Ergebnis: {''city'': ''東京'', ''t'': 21.5, ''sky'': ''☀️''}; {''city'': ''Zürich'', ''t'': 21.5, ''sky'': ''☀️''}"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "Ergebnis: {''city'': ''東京'', ''t'': 21.5, ''sky'': ''☀️''}; {''city'': ''Zürich'', ''t'': 21.5, ''sky'': ''☀️''}"}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.7167127, "finish_reason": "STOP", "invocation_id": "e-4d8ce553-1012-4edb-bb51-7070e2006aee", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 24, "prompt_token_count": 19, "candidates_token_count": 5, "cached_content_token_count": 2}}');
INSERT INTO public.events VALUES ('505dbee4-704b-4df0-a8a5-04f1c0a15e2a', 'tour_app', 'u1', 'tour', 'e-86a8da4e-e579-4988-837c-3f4124f1f8a0', '2026-11-22 11:40:41.731271', '{"id": "505dbee4-704b-4df0-a8a5-04f1c0a15e2a", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "broken please"}]}, "node_info": {"path": ""}, "timestamp": 1795347641.7312706, "invocation_id": "e-86a8da4e-e579-4988-837c-3f4124f1f8a0"}');
INSERT INTO public.events VALUES ('a06c9826-9fa0-43f8-8007-ab97a66635b4', 'tour_app', 'u1', 'tour', 'e-86a8da4e-e579-4988-837c-3f4124f1f8a0', '2026-11-22 11:40:41.743537', '{"id": "a06c9826-9fa0-43f8-8007-ab97a66635b4", "author": "helfer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-59faa3b7-e466-4708-91f8-da88cf676c7e", "args": {"item": "broken"}, "name": "stock"}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.743537, "finish_reason": "STOP", "invocation_id": "e-86a8da4e-e579-4988-837c-3f4124f1f8a0", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 26, "prompt_token_count": 21, "candidates_token_count": 5, "cached_content_token_count": 2}, "long_running_tool_ids": []}');
INSERT INTO public.events VALUES ('ba98be37-8530-47bd-96d9-622aaa080f55', 'tour_app', 'u1', 'tour', 'e-86a8da4e-e579-4988-837c-3f4124f1f8a0', '2026-11-22 11:40:41.755966', '{"id": "ba98be37-8530-47bd-96d9-622aaa080f55", "author": "helfer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "adk-59faa3b7-e466-4708-91f8-da88cf676c7e", "name": "stock", "response": {"error": "RuntimeError(''warehouse unreachable: ECONNREFUSED'')"}}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.755966, "invocation_id": "e-86a8da4e-e579-4988-837c-3f4124f1f8a0"}');
INSERT INTO public.events VALUES ('98b09154-478d-4ccb-a2cd-30c55e2ea059', 'tour_app', 'u1', 'tour', 'e-86a8da4e-e579-4988-837c-3f4124f1f8a0', '2026-11-22 11:40:41.762835', '{"id": "98b09154-478d-4ccb-a2cd-30c55e2ea059", "author": "helfer", "actions": {"state_delta": {"last_answer": "Ergebnis: {''error'': \"RuntimeError(''warehouse unreachable: ECONNREFUSED'')\"}"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "Ergebnis: {''error'': \"RuntimeError(''warehouse unreachable: ECONNREFUSED'')\"}"}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.7628353, "finish_reason": "STOP", "invocation_id": "e-86a8da4e-e579-4988-837c-3f4124f1f8a0", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 28, "prompt_token_count": 23, "candidates_token_count": 5, "cached_content_token_count": 2}}');
INSERT INTO public.events VALUES ('93895e00-dcc3-4241-9178-a8d55174f65d', 'tour_app', 'u1', 'tour', 'e-9e51b3fa-8e4c-4c09-914b-2d244ad2697c', '2026-11-22 11:40:41.775566', '{"id": "93895e00-dcc3-4241-9178-a8d55174f65d", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "order please"}]}, "node_info": {"path": ""}, "timestamp": 1795347641.775566, "invocation_id": "e-9e51b3fa-8e4c-4c09-914b-2d244ad2697c"}');
INSERT INTO public.events VALUES ('e8fef45f-bfe9-472f-a3a1-345dbbcde7f8', 'tour_app', 'u1', 'tour', 'e-9e51b3fa-8e4c-4c09-914b-2d244ad2697c', '2026-11-22 11:40:41.787941', '{"id": "e8fef45f-bfe9-472f-a3a1-345dbbcde7f8", "author": "helfer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-553051e0-eae4-4f13-a7f3-b50a796b5dff", "args": {"n": 3, "item": "Äpfel"}, "name": "order"}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.7879405, "finish_reason": "STOP", "invocation_id": "e-9e51b3fa-8e4c-4c09-914b-2d244ad2697c", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 30, "prompt_token_count": 25, "candidates_token_count": 5, "cached_content_token_count": 2}, "long_running_tool_ids": ["adk-553051e0-eae4-4f13-a7f3-b50a796b5dff"]}');
INSERT INTO public.events VALUES ('3b5495f7-ff6b-4e28-ab06-32a54fbb16ca', 'tour_app', 'u1', 'tour', 'e-9e51b3fa-8e4c-4c09-914b-2d244ad2697c', '2026-11-22 11:40:41.895214', '{"id": "3b5495f7-ff6b-4e28-ab06-32a54fbb16ca", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "adk-553051e0-eae4-4f13-a7f3-b50a796b5dff", "name": "order", "response": {"approved": true}}}]}, "node_info": {"path": ""}, "timestamp": 1795347641.8952138, "invocation_id": "e-9e51b3fa-8e4c-4c09-914b-2d244ad2697c"}');
INSERT INTO public.events VALUES ('8e06ba6e-9369-41e5-ad48-5c10d6e3020e', 'tour_app', 'u1', 'tour', 'e-9e51b3fa-8e4c-4c09-914b-2d244ad2697c', '2026-11-22 11:40:41.905864', '{"id": "8e06ba6e-9369-41e5-ad48-5c10d6e3020e", "author": "helfer", "actions": {"state_delta": {"last_answer": "Ergebnis: {''approved'': True}"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "Ergebnis: {''approved'': True}"}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347641.9058642, "finish_reason": "STOP", "invocation_id": "e-9e51b3fa-8e4c-4c09-914b-2d244ad2697c", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 32, "prompt_token_count": 27, "candidates_token_count": 5, "cached_content_token_count": 2}}');
INSERT INTO public.events VALUES ('d29bd432-20ab-4f07-8efe-b7f5e787a338', 'tour_app', 'u1', 'tour', 'e-64dc9e24-8181-422c-9682-99a25010d2ed', '2026-11-22 11:40:41.938355', '{"id": "d29bd432-20ab-4f07-8efe-b7f5e787a338", "author": "user", "actions": {"state_delta": {"initial": null, "last_answer": "Ergebnis: {''result'': ''ok''}"}, "artifact_delta": {}, "requested_auth_configs": {}, "rewind_before_invocation_id": "e-4d8ce553-1012-4edb-bb51-7070e2006aee", "requested_tool_confirmations": {}}, "node_info": {"path": ""}, "timestamp": 1795347641.9383552, "invocation_id": "e-64dc9e24-8181-422c-9682-99a25010d2ed"}');
INSERT INTO public.events VALUES ('8d51c747-c107-4e1f-9669-4fc4ad636fa1', 'tour_app', 'u1', 'tour', 'e-25206fc1-a2b8-4bbc-a3f2-330a3efdb6f4', '2026-11-22 11:40:42.006995', '{"id": "8d51c747-c107-4e1f-9669-4fc4ad636fa1", "author": "helfer", "actions": {"state_delta": {"last_answer": "Gern! after the rewind 👋"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "Gern! after the rewind 👋"}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347642.006995, "finish_reason": "STOP", "invocation_id": "e-25206fc1-a2b8-4bbc-a3f2-330a3efdb6f4", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 22, "prompt_token_count": 17, "candidates_token_count": 5, "cached_content_token_count": 2}}');
INSERT INTO public.events VALUES ('d41afca8-7260-4b17-8f4d-a3d5906fde6d', 'tour_app', 'u1', 'tour', 'e-bb889863-0b9b-4bdb-ac1d-655f74e466c9', '2026-11-22 11:40:42.028952', '{"id": "d41afca8-7260-4b17-8f4d-a3d5906fde6d", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "remember more"}]}, "node_info": {"path": ""}, "timestamp": 1795347642.0289524, "invocation_id": "e-bb889863-0b9b-4bdb-ac1d-655f74e466c9"}');
INSERT INTO public.events VALUES ('d42ee44a-7544-4f97-a895-6b5a943449e3', 'tour_app', 'u1', 'tour', 'e-bb889863-0b9b-4bdb-ac1d-655f74e466c9', '2026-11-22 11:40:42.039134', '{"id": "d42ee44a-7544-4f97-a895-6b5a943449e3", "author": "helfer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-8a10d7ea-333c-4ee9-9f20-49542142ef2f", "args": {"what": "Äpfel"}, "name": "remember"}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347642.0391335, "finish_reason": "STOP", "invocation_id": "e-bb889863-0b9b-4bdb-ac1d-655f74e466c9", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 24, "prompt_token_count": 19, "candidates_token_count": 5, "cached_content_token_count": 2}, "long_running_tool_ids": []}');
INSERT INTO public.events VALUES ('0c108f22-089a-4f1e-8ddd-ca1481e43db1', 'tour_app', 'u1', 'tour', 'e-bb889863-0b9b-4bdb-ac1d-655f74e466c9', '2026-11-22 11:40:42.052065', '{"id": "0c108f22-089a-4f1e-8ddd-ca1481e43db1", "author": "helfer", "actions": {"state_delta": {"basket": ["Äpfel", "Äpfel"], "app:motto": "größer", "user:name": "Zoë"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"function_response": {"id": "adk-8a10d7ea-333c-4ee9-9f20-49542142ef2f", "name": "remember", "response": {"result": "ok"}}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347642.0520654, "invocation_id": "e-bb889863-0b9b-4bdb-ac1d-655f74e466c9"}');
INSERT INTO public.events VALUES ('27f8c259-931c-4d28-bb00-570c964ffc71', 'tour_app', 'u1', 'tour', 'e-bb889863-0b9b-4bdb-ac1d-655f74e466c9', '2026-11-22 11:40:42.06758', '{"id": "27f8c259-931c-4d28-bb00-570c964ffc71", "author": "helfer", "actions": {"state_delta": {"last_answer": "Ergebnis: {''result'': ''ok''}"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "Ergebnis: {''result'': ''ok''}"}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347642.0675797, "finish_reason": "STOP", "invocation_id": "e-bb889863-0b9b-4bdb-ac1d-655f74e466c9", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 26, "prompt_token_count": 21, "candidates_token_count": 5, "cached_content_token_count": 2}}');
INSERT INTO public.events VALUES ('19ed4a58-13f0-4845-83e4-75de0e1d6ebc', 'tour_app', 'u1', 'tour', 'e-1a229736-eaea-43fa-911b-db82eba2ecdc', '2026-11-22 11:40:42.106396', '{"id": "19ed4a58-13f0-4845-83e4-75de0e1d6ebc", "author": "user", "actions": {"state_delta": {"basket": ["Äpfel"], "initial": null, "last_answer": "Gern! after the rewind 👋"}, "artifact_delta": {}, "requested_auth_configs": {}, "rewind_before_invocation_id": "e-bb889863-0b9b-4bdb-ac1d-655f74e466c9", "requested_tool_confirmations": {}}, "node_info": {"path": ""}, "timestamp": 1795347642.1063964, "invocation_id": "e-1a229736-eaea-43fa-911b-db82eba2ecdc"}');
INSERT INTO public.events VALUES ('0fcb21ca-45b9-46c8-988c-2678cb25f650', 'tour_app', 'u1', 'bytes', 'e-4027aab6-b527-4364-bf65-a623be651465', '2026-11-22 11:40:42.122684', '{"id": "0fcb21ca-45b9-46c8-988c-2678cb25f650", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "ein Bild"}, {"inline_data": {"data": "iVBORwD_", "mime_type": "image/png"}}]}, "node_info": {"path": ""}, "timestamp": 1795347642.1226842, "invocation_id": "e-4027aab6-b527-4364-bf65-a623be651465"}');
INSERT INTO public.events VALUES ('e592d2f2-ef2c-46c6-90a9-2230947e8920', 'tour_app', 'u1', 'bytes', 'e-4027aab6-b527-4364-bf65-a623be651465', '2026-11-22 11:40:42.128967', '{"id": "e592d2f2-ef2c-46c6-90a9-2230947e8920", "author": "helfer", "actions": {"state_delta": {"last_answer": "Gern! ein Bild  👋"}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"text": "Gern! ein Bild  👋"}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347642.1289668, "finish_reason": "STOP", "invocation_id": "e-4027aab6-b527-4364-bf65-a623be651465", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 16, "prompt_token_count": 11, "candidates_token_count": 5, "cached_content_token_count": 2}}');
INSERT INTO public.events VALUES ('58b375be-472b-424c-832d-be251545e31a', 'tour_app', 'u1', 'waiting', 'e-f94a6e26-66bb-4d53-bfcc-5df7b5f8daac', '2026-11-22 11:40:42.149975', '{"id": "58b375be-472b-424c-832d-be251545e31a", "author": "user", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "user", "parts": [{"text": "order now"}]}, "node_info": {"path": ""}, "timestamp": 1795347642.149975, "invocation_id": "e-f94a6e26-66bb-4d53-bfcc-5df7b5f8daac"}');
INSERT INTO public.events VALUES ('9145c852-2e98-4182-b293-0ce500c7b248', 'tour_app', 'u1', 'waiting', 'e-f94a6e26-66bb-4d53-bfcc-5df7b5f8daac', '2026-11-22 11:40:42.162547', '{"id": "9145c852-2e98-4182-b293-0ce500c7b248", "author": "helfer", "actions": {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}, "requested_tool_confirmations": {}}, "content": {"role": "model", "parts": [{"function_call": {"id": "adk-c7886b2a-3549-40db-819f-6ef2a292220a", "args": {"n": 3, "item": "Äpfel"}, "name": "order"}}]}, "node_info": {"path": "helfer@1"}, "timestamp": 1795347642.1625469, "finish_reason": "STOP", "invocation_id": "e-f94a6e26-66bb-4d53-bfcc-5df7b5f8daac", "model_version": "scripted-1", "usage_metadata": {"total_token_count": 16, "prompt_token_count": 11, "candidates_token_count": 5, "cached_content_token_count": 2}, "long_running_tool_ids": ["adk-c7886b2a-3549-40db-819f-6ef2a292220a"]}');


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.sessions VALUES ('tour_app', 'u1', 'tour', '{"basket": ["Äpfel"], "initial": null, "last_answer": "Gern! after the rewind 👋"}', '2026-11-22 11:40:40.614923', '2026-11-22 11:40:42.106396');
INSERT INTO public.sessions VALUES ('tour_app', 'u1', 'bytes', '{"last_answer": "Gern! ein Bild  👋"}', '2026-11-22 11:40:42.117881', '2026-11-22 11:40:42.128967');
INSERT INTO public.sessions VALUES ('tour_app', 'u1', 'waiting', '{}', '2026-11-22 11:40:42.138564', '2026-11-22 11:40:42.162547');


--
-- Data for Name: user_states; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.user_states VALUES ('tour_app', 'u1', '{"lang": "de", "name": "Zoë"}', '2026-11-22 11:40:42.056714');


--
-- Name: adk_internal_metadata adk_internal_metadata_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.adk_internal_metadata
    ADD CONSTRAINT adk_internal_metadata_pkey PRIMARY KEY (key);


--
-- Name: app_states app_states_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.app_states
    ADD CONSTRAINT app_states_pkey PRIMARY KEY (app_name);


--
-- Name: events events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id, app_name, user_id, session_id);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (app_name, user_id, id);


--
-- Name: user_states user_states_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_states
    ADD CONSTRAINT user_states_pkey PRIMARY KEY (app_name, user_id);


--
-- Name: idx_events_app_user_session_ts_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idx_events_app_user_session_ts_id ON public.events USING btree (app_name, user_id, session_id, "timestamp" DESC, id DESC);


--
-- Name: events events_app_name_user_id_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_app_name_user_id_session_id_fkey FOREIGN KEY (app_name, user_id, session_id) REFERENCES public.sessions(app_name, user_id, id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


