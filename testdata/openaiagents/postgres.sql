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
-- Name: agent_messages; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.agent_messages (
    id integer NOT NULL,
    session_id character varying NOT NULL,
    message_data text NOT NULL,
    created_at timestamp without time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);


--
-- Name: agent_messages_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.agent_messages_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: agent_messages_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.agent_messages_id_seq OWNED BY public.agent_messages.id;


--
-- Name: agent_sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.agent_sessions (
    session_id character varying NOT NULL,
    created_at timestamp without time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    updated_at timestamp without time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);


--
-- Name: agent_messages id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.agent_messages ALTER COLUMN id SET DEFAULT nextval('public.agent_messages_id_seq'::regclass);


--
-- Data for Name: agent_messages; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.agent_messages VALUES (1, 'tour', '{"content":"hello gr\u00f6\u00dfe","role":"user"}', '2026-11-25 16:37:42.848083');
INSERT INTO public.agent_messages VALUES (2, 'tour', '{"id":"msg_1","content":[{"annotations":[],"text":"Gern! hello gr\u00f6\u00dfe \ud83d\udc4b","type":"output_text"}],"role":"assistant","status":"completed","type":"message"}', '2026-11-25 16:37:42.883177');
INSERT INTO public.agent_messages VALUES (3, 'tour', '{"content":"both please","role":"user"}', '2026-11-25 16:37:42.920618');
INSERT INTO public.agent_messages VALUES (4, 'tour', '{"arguments":"{\"city\": \"\u6771\u4eac\"}","call_id":"call_20","name":"weather","type":"function_call","id":"fc_20"}', '2026-11-25 16:37:42.939955');
INSERT INTO public.agent_messages VALUES (5, 'tour', '{"arguments":"{\"city\": \"Z\u00fcrich\"}","call_id":"call_21","name":"weather","type":"function_call","id":"fc_21"}', '2026-11-25 16:37:42.939955');
INSERT INTO public.agent_messages VALUES (6, 'tour', '{"call_id":"call_20","output":"\u6771\u4eac: 21 \u00b0C \u2600\ufe0f","type":"function_call_output"}', '2026-11-25 16:37:42.939955');
INSERT INTO public.agent_messages VALUES (7, 'tour', '{"call_id":"call_21","output":"Z\u00fcrich: 21 \u00b0C \u2600\ufe0f","type":"function_call_output"}', '2026-11-25 16:37:42.939955');
INSERT INTO public.agent_messages VALUES (8, 'tour', '{"id":"msg_3","content":[{"annotations":[],"text":"Ergebnis: Z\u00fcrich: 21 \u00b0C \u2600\ufe0f","type":"output_text"}],"role":"assistant","status":"completed","type":"message"}', '2026-11-25 16:37:42.954213');
INSERT INTO public.agent_messages VALUES (9, 'tour', '{"content":"broken please","role":"user"}', '2026-11-25 16:37:42.972367');
INSERT INTO public.agent_messages VALUES (10, 'tour', '{"arguments":"{\"item\": \"broken\"}","call_id":"call_40","name":"stock","type":"function_call","id":"fc_40"}', '2026-11-25 16:37:43.004037');
INSERT INTO public.agent_messages VALUES (11, 'tour', '{"call_id":"call_40","output":"An error occurred while running the tool. Please try again.","type":"function_call_output"}', '2026-11-25 16:37:43.004037');
INSERT INTO public.agent_messages VALUES (12, 'tour', '{"id":"msg_5","content":[{"annotations":[],"text":"Ergebnis: An error occurred while running the tool. Please try again.","type":"output_text"}],"role":"assistant","status":"completed","type":"message"}', '2026-11-25 16:37:43.016213');
INSERT INTO public.agent_messages VALUES (15, 'tour', '{"content":"order please","role":"user"}', '2026-11-25 16:37:43.067917');
INSERT INTO public.agent_messages VALUES (16, 'tour', '{"arguments":"{\"item\": \"\u00c4pfel\"}","call_id":"call_70","name":"order","type":"function_call","id":"fc_70"}', '2026-11-25 16:37:43.081955');
INSERT INTO public.agent_messages VALUES (17, 'async', '{"content":"hi","role":"user"}', '2026-11-25 16:37:43.128798');
INSERT INTO public.agent_messages VALUES (18, 'async', '{"id":"msg_8","content":[{"annotations":[],"text":"Gern! hi \ud83d\udc4b","type":"output_text"}],"role":"assistant","status":"completed","type":"message"}', '2026-11-25 16:37:43.143288');


--
-- Data for Name: agent_sessions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.agent_sessions VALUES ('tour', '2026-11-25 16:37:42.848083', '2026-11-25 16:37:43.081955');
INSERT INTO public.agent_sessions VALUES ('async', '2026-11-25 16:37:43.128798', '2026-11-25 16:37:43.143288');


--
-- Name: agent_messages_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.agent_messages_id_seq', 18, true);


--
-- Name: agent_messages agent_messages_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.agent_messages
    ADD CONSTRAINT agent_messages_pkey PRIMARY KEY (id);


--
-- Name: agent_sessions agent_sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.agent_sessions
    ADD CONSTRAINT agent_sessions_pkey PRIMARY KEY (session_id);


--
-- Name: idx_agent_messages_session_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX idx_agent_messages_session_time ON public.agent_messages USING btree (session_id, created_at);


--
-- Name: agent_messages agent_messages_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.agent_messages
    ADD CONSTRAINT agent_messages_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.agent_sessions(session_id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


