// Browsers start no worker for a page that was opened from a folder: there, the search runs in a hidden frame.
class IFrameWorker extends EventTarget {
  constructor(address) {
    super();
    this.waiting = [];
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    this.inside = frame.contentWindow;
    this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    const script = this.inside.document.createElement("script");
    script.src = address;
    script.onload = () => {
      this.waiting.forEach((data) => this.deliver(data));
      this.waiting = null;
    };
    script.onerror = () => this.dispatchEvent(new Event("error"));
    this.inside.document.body.append(script);
  }

  postMessage(data) {
    if (this.waiting) this.waiting.push(data);
    else this.deliver(data);
  }

  deliver(data) {
    this.inside.dispatchEvent(new MessageEvent("message", { data }));
  }
}

if (location.protocol === "file:") window.Worker = window.IFrameWorker = IFrameWorker;
