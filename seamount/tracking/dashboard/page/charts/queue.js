// Charts are asked for a few at a time, those in view first; one that is gone is not asked for.
const AT_ONCE = 4;
const waiting = [];
let busy = 0;

export function enqueue(work, signal) {
  return new Promise((resolve, reject) => {
    waiting.push({ work, signal, resolve, reject });
    next();
  });
}

function next() {
  while (busy < AT_ONCE && waiting.length) {
    const job = waiting.shift();
    if (job.signal.aborted) {
      job.reject(new DOMException("gone", "AbortError"));
      continue;
    }
    busy += 1;
    job.work().then(job.resolve, job.reject).finally(() => {
      busy -= 1;
      next();
    });
  }
}
