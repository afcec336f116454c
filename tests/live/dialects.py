"""The protocols in which agents ask a model: Anthropic Messages, OpenAI Responses and Chat Completions, Gemini.

Each one reads a request into a `Request`, and writes words and at most one call of a tool as the answer, in a stream if the
request wants one.
"""

import collections
import itertools
import json
import os

Tool = collections.namedtuple("Tool", "name schema is_free namespace", defaults=[False, None])
Request = collections.namedtuple("Request", "turns tools body path")

NUMBERS = itertools.count(1)
# Ids of sessions that were resumed must not come again in another world.
RUN = os.urandom(4).hex()


def new_id(prefix):
    return f"{prefix}_live{RUN}{next(NUMBERS):06}"


def text_of(content):
    """Returns the words of a message's content, without what tools answered."""
    if isinstance(content, str):
        return content
    parts = [part for part in content or [] if isinstance(part, dict)]
    # What one agent hands to another is called encrypted, and is not.
    texts = [part.get("text", part.get("encrypted_content")) for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def event(value, name=None):
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()


class Anthropic:
    """POST /v1/messages"""

    @staticmethod
    def read(body, path):
        turns = [("user" if m["role"] == "user" else "model", text_of(m.get("content"))) for m in body.get("messages", [])
                 if m["role"] != "system"]
        tools = [Tool(tool["name"], tool.get("input_schema")) for tool in body.get("tools") or [] if "name" in tool]
        return Request(turns, tools, body, path)

    @staticmethod
    def write(request, words, call):
        if (request.body.get("output_config") or {}).get("format"):
            words, call = json.dumps({"title": "Scripted session", "isNewTopic": False}), None
        blocks = [{"type": "text", "text": words}] if words else []
        if call:
            tool, given = call
            blocks.append({"type": "tool_use", "id": new_id("toolu"), "name": tool.name, "input": given})
        stop = "tool_use" if call else "end_turn"
        usage = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 20}
        message = {"id": new_id("msg"), "type": "message", "role": "assistant", "model": request.body.get("model"),
                   "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}
        if not request.body.get("stream"):
            return False, message
        events = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_start", "index": index, "content_block": start})
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events.append({"type": "content_block_stop", "index": index})
        delta = {"stop_reason": stop, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}})
        events.append({"type": "message_stop"})
        return True, [event(value, value["type"]) for value in events]


class Responses:
    """POST /v1/responses"""

    @staticmethod
    def read(body, path):
        items = body.get("input") or []
        items = [{"role": "user", "content": items}] if isinstance(items, str) else items
        turns = []
        declared = list(body.get("tools") or [])
        for item in items:
            kind = item.get("type", "message")
            if kind == "agent_message" or kind == "message" and item.get("role") == "user":
                turns.append(("user", text_of(item.get("content"))))
            elif kind in ("function_call", "custom_tool_call"):
                # Words and the call after them are one answer. No step but the last has words alone.
                turns.append(("model", ""))
            elif kind == "additional_tools":
                declared += item.get("tools", [])
        tools = []
        for tool in declared:
            namespace = tool.get("name") if tool.get("name") != "functions" else None
            tools += [Tool(t.get("name"), t.get("parameters"), t.get("type") == "custom", namespace)
                      for t in tool.get("tools", [])]
            if tool.get("name") and "tools" not in tool:
                tools.append(Tool(tool["name"], tool.get("parameters"), tool.get("type") == "custom"))
        return Request(turns, tools, body, path)

    @staticmethod
    def write(request, words, call):
        output = []
        if words:
            content = [{"type": "output_text", "text": words, "annotations": []}]
            output.append({"type": "message", "id": new_id("msg"), "role": "assistant", "status": "completed", "content": content})
        if call:
            tool, given = call
            item = {"call_id": new_id("call"), "name": tool.name, "status": "completed"}
            if tool.namespace:
                item["namespace"] = tool.namespace
            if tool.is_free:
                output.append({"type": "custom_tool_call", "id": new_id("ctc"), **item, "input": given})
            else:
                output.append({"type": "function_call", "id": new_id("fc"), **item, "arguments": json.dumps(given)})
        usage = {"input_tokens": 110, "input_tokens_details": {"cached_tokens": 100}, "output_tokens": 20,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 130}
        whole = {"id": new_id("resp"), "object": "response", "created_at": 0, "model": request.body.get("model"),
                 "status": "completed", "output": output, "usage": usage, "error": None, "incomplete_details": None}
        if not request.body.get("stream"):
            return False, whole
        events = [{"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}]
        for index, item in enumerate(output):
            place = {"output_index": index, "item_id": item["id"]}
            if item["type"] == "message":
                started = {**item, "status": "in_progress", "content": []}
                part = {"content_index": 0, **place}
                middle = [
                    {"type": "response.content_part.added", **part, "part": {"type": "output_text", "text": "", "annotations": []}},
                    {"type": "response.output_text.delta", **part, "delta": words},
                    {"type": "response.output_text.done", **part, "text": words},
                    {"type": "response.content_part.done", **part, "part": item["content"][0]},
                ]
            elif item["type"] == "function_call":
                started = {**item, "status": "in_progress", "arguments": ""}
                middle = [
                    {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]},
                    {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]},
                ]
            else:
                started, middle = {**item, "status": "in_progress", "input": ""}, []
            events.append({"type": "response.output_item.added", "output_index": index, "item": started})
            events += middle
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": whole})
        return True, [event({**value, "sequence_number": number}, value["type"]) for number, value in enumerate(events)]


class Chat:
    """POST /v1/chat/completions"""

    @staticmethod
    def read(body, path):
        roles = {"user": "user", "assistant": "model"}
        turns = [(roles.get(m.get("role"), "other"), text_of(m.get("content"))) for m in body.get("messages", [])]
        functions = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
        return Request(turns, [Tool(f["name"], f.get("parameters")) for f in functions], body, path)

    @staticmethod
    def write(request, words, call):
        calls = []
        if call:
            tool, given = call
            calls = [{"id": new_id("call"), "type": "function", "function": {"name": tool.name, "arguments": json.dumps(given)}}]
        usage = {"prompt_tokens": 110, "completion_tokens": 20, "total_tokens": 130, "prompt_tokens_details": {"cached_tokens": 100}}
        head = {"id": new_id("chatcmpl"), "created": 0, "model": request.body.get("model")}
        stop = "tool_calls" if call else "stop"
        if not request.body.get("stream"):
            message = {"role": "assistant", "content": words, **({"tool_calls": calls} if calls else {})}
            choices = [{"index": 0, "message": message, "finish_reason": stop}]
            return False, {**head, "object": "chat.completion", "choices": choices, "usage": usage}
        deltas = [({"role": "assistant", "content": words or ""}, None)]
        deltas += [({"tool_calls": [{"index": 0, **c}]}, None) for c in calls]
        deltas.append(({}, stop))
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]} for delta, reason in deltas]
        chunks.append({"choices": [], "usage": usage})
        return True, [event({**head, "object": "chat.completion.chunk", **chunk}) for chunk in chunks] + [event("[DONE]")]


class Gemini:
    """POST /v1beta/models/<model>:generateContent and :streamGenerateContent"""

    @staticmethod
    def read(body, path):
        turns = [("user" if c.get("role") == "user" else "model", text_of(c.get("parts"))) for c in body.get("contents", [])]
        declared = [f for tool in body.get("tools") or [] for f in tool.get("functionDeclarations", [])]
        tools = [Tool(f["name"], f.get("parametersJsonSchema") or f.get("parameters")) for f in declared]
        return Request(turns, tools, body, path)

    @staticmethod
    def write(request, words, call):
        config = request.body.get("generationConfig") or {}
        schema = config.get("responseJsonSchema") or config.get("responseSchema")
        parts = [{"text": words}] if words else []
        finish = next((tool for tool in request.tools if tool.name == "complete_task"), None)
        if schema:
            fill = {"boolean": False, "number": 1, "integer": 1, "array": [], "object": {}}
            values = {name: (p.get("enum") or [fill.get(str(p.get("type")).lower(), "scripted")])[0]
                      for name, p in schema.get("properties", {}).items()}
            parts = [{"text": json.dumps(values)}]
        elif call:
            tool, given = call
            parts.append({"functionCall": {"name": tool.name, "args": given}})
        elif finish:
            # A sub-agent ends with this call.
            parts = [{"functionCall": {"name": finish.name, "args": {"result": words, "response": words}}}]
        usage = {"promptTokenCount": 110, "candidatesTokenCount": 20, "totalTokenCount": 130, "cachedContentTokenCount": 100}
        model = request.path.rsplit("/", 1)[-1].split(":")[0]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        answer = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": new_id("r")}
        return ("stream" in request.path, [event(answer)] if "stream" in request.path else answer)


def of(path):
    """Returns the protocol that a request's path belongs to, or `None`."""
    ends = {"/messages": Anthropic, "/responses": Responses, "/chat/completions": Chat}
    if "enerateContent" in path:
        return Gemini
    return next((dialect for end, dialect in ends.items() if path.endswith(end)), None)
