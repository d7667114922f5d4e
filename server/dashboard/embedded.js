// Stands before app.js where a client shows the dashboard beside a tool's reply (MCP Apps,
// 2026-01-26): data comes through the client, by JSON-RPC over postMessage, and from nowhere else.
"use strict";
globalThis.embedded = (() => {
  const VERSION = "2026-01-26", DATA = "kernelwright://dashboard/", LOOK_MS = 5000;
  const waiting = new Map();
  let sent = 0, told = () => {};

  // The client's origin is not known before it speaks; what is sent are requests to read.
  const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  function request(method, params) {
    sent += 1;
    send({ id: sent, method, params });
    return new Promise((resolve, reject) => waiting.set(sent, { resolve, reject }));
  }

  function answered({ id, result, error }) {
    const asker = waiting.get(id);
    waiting.delete(id);
    if (error) asker?.reject(new Error(error.message)); else asker?.resolve(result);
  }

  function dressed(context) {
    if (context?.theme) document.documentElement.style.colorScheme = context.theme;
  }

  const heard = {
    "ui/notifications/tool-result": ({ structuredContent: reply }) => told({
      kernel: reply?.kernel_id ?? reply?.result?.kernel_id,
      search: reply?.search_id ?? reply?.result?.search_id,
    }),
    "ui/notifications/host-context-changed": dressed,
  };

  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || data?.jsonrpc !== "2.0") return;
    if (!data.method) answered(data);
    else if (data.id === undefined) heard[data.method]?.(data.params);
    else send({ id: data.id, result: {} }); // ping, and the end: nothing is left to be kept
  });

  function sized() {
    const { scrollWidth: width, scrollHeight: height } = document.documentElement;
    send({ method: "ui/notifications/size-changed", params: { width, height } });
  }

  const ready = request("ui/initialize", {
    protocolVersion: VERSION,
    appInfo: { name: "kernelwright", version: VERSION },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
  }).then(({ hostContext }) => {
    dressed(hostContext);
    send({ method: "ui/notifications/initialized", params: {} });
    new ResizeObserver(sized).observe(document.documentElement);
  });

  return {
    async data(path) {
      await ready;
      const { contents } = await request("resources/read", { uri: DATA + path });
      return JSON.parse(contents[0].text);
    },
    listen(refresh, show) {
      told = show;
      ready.then(refresh);
      setInterval(() => { if (!document.hidden) refresh(); }, LOOK_MS);
    },
  };
})();
