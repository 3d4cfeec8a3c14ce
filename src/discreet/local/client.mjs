// The client of the local model in JavaScript: the draws, the reports and the checks of client.py, byte for byte.
// It runs in browsers (with HTTPS) and in Node 20, on WebCrypto alone. Guarantee: docs/proofs/local/client.md.
//   const report = await (await Client.open({ task, cohort: 0 })).report(value); // 31 bytes and the payload
const PRIME = 2n ** 31n - 1n;
const text = (string) => new TextEncoder().encode(string);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (string) => Uint8Array.from(string.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const join = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const number = (bytes) => BigInt("0x0" + hex(bytes));
const bytesOf = (value, size) => unhex(value.toString(16).padStart(2 * size, "0"));
const bitLength = (value) => (value === 0n ? 0 : value.toString(2).length);
const isWhole = (value, low, high = 2 ** 53 - 1) => Number.isSafeInteger(value) && value >= low && value <= high;
const isPrime = (q) => q >= 2n && q < 65536n && [...Array(256).keys()].every((i) => i < 2 || q <= i || q % BigInt(i));
const check = (condition, because) => {
  if (!condition) throw new Error(`client\n  because  ${because}\n  instead  the assignment of a discreet.local.Task`);
};
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
const keyOf = (secret) => crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
const hmac = async (secret, bytes) => new Uint8Array(await crypto.subtle.sign("HMAC", await keyOf(secret), bytes));
const stream = (secret, label, counter = 0) => () => hmac(secret, join(label, bytesOf(counter++, 4)));
const systemBytes = (size) => crypto.getRandomValues(new Uint8Array(Math.max(size, 64)));
class RandomBits { // uniform integers from the bytes of an asynchronous function, each byte used once and in order
  constructor(supply) { Object.assign(this, { supply, buffer: new Uint8Array(0) }); }
  async take(size) {
    while (this.buffer.length < size) this.buffer = join(this.buffer, await this.supply(size - this.buffer.length));
    const bytes = this.buffer.slice(0, size);
    this.buffer = this.buffer.slice(size);
    return bytes;
  }
  async below(bound, value = bound) {
    const bits = bitLength(bound - 1n), size = (bits + 7) >> 3;
    while (value >= bound) value = number(await this.take(size)) >> BigInt(8 * size - bits);
    return value;
  }
}
// An oracle makes, from integers as BigInt, a draw (bits, slot) -> one of its symbols, or (0n symbols) a list.
const krr = ({ size, ratio: [a, b] }) => async (bits, slot) => {
  const u = await bits.below(a + b * (size - 1n)), other = (u - a) / b;
  return u < a ? slot : other < slot ? other : other + 1n;
};
const coins = ({ one, zero }) => async (bits, before, after = []) => {
  for (const [share, whole] of before.map((bit) => (bit ? one : zero))) after.push((await bits.below(whole)) < share);
  return after;
};
const duchi = ({ steps, ratio: [a, b] }) => async (bits, slot) =>
  (await bits.below((a + b) * steps)) < b * steps + (a - b) * slot ? 1n : 0n;
const oracles = {
  krr: { fields: "size ratio", symbols: (o) => o.size, draw: krr },
  unary: { fields: "size one zero", symbols: () => 0n, draw: (o) => (bits, slot) =>
    coins(o)(bits, Array(Number(o.size)).fill(false).with(Number(slot), true)) },
  subset: { fields: "size subset ratio", symbols: () => 0n, isValid: (o) => o.subset < o.size,
    draw: ({ size, subset, ratio: [a, b] }) => async (bits, slot) => {
      const inside = (await bits.below(subset * a + (size - subset) * b)) < subset * a, others = new Set();
      for (let last = size - 1n - subset + (inside ? 1n : 0n); last < size - 1n; last++) { // Floyd's sample
        const t = await bits.below(last + 1n);
        others.add(others.has(t) ? last : t);
      }
      return [...others].map((t) => Number(t < slot ? t : t + 1n)).concat(inside ? Number(slot) : []).sort((x, y) => x - y);
    } },
  lh: { fields: "size range ratio", symbols: (o) => o.range, isValid: (o) => o.range > 1n && o.range + o.size <= PRIME,
    draw: ({ range, ratio }, digest) => (bits, slot) => {
      const [a, b, c] = [0, 8, 16].map((start) => number(digest.slice(start, start + 8)) % PRIME);
      return krr({ size: range, ratio })(bits, ((a * slot * slot + b * slot + c) % PRIME) % range);
    } },
  hadamard: { fields: "size order ratio", symbols: (o) => 2n * o.order,
    isValid: ({ size, order }) => order > size && !(order & (order - 1n)),
    draw: ({ order, ratio: [a, b] }) => async (bits, slot) => {
      const row = await bits.below(order), ones = (row & (slot + 1n)).toString(2).replaceAll("0", "").length;
      return 2n * row + ((BigInt(ones) + ((await bits.below(a + b)) < a ? 0n : 1n)) % 2n);
    } },
  pgr: { fields: "size field dimension ratio", symbols: (o) => (o.field ** o.dimension - 1n) / (o.field - 1n),
    isValid: (o) => isPrime(o.field) && o.dimension > 1n && o.dimension <= 64n && o.size <= oracles.pgr.symbols(o),
    draw: ({ field: q, dimension: t, ratio: [a, b] }) => async (bits, slot) => { // the first non-zero coordinate is 1
      const tails = q ** (t - 1n), inside = a * ((tails - 1n) / (q - 1n));
      const first = (lead) => (q ** (t - 1n - BigInt(lead)) - 1n) / (q - 1n); // number of the first point of a lead
      const digits = (value, count) => Array.from({ length: count }, (_, i) => value / q ** BigInt(count - 1 - i) % q);
      let lead = 0, point, inverse = 1n;
      while (slot < first(lead)) lead++;
      const tail = digits(slot - first(lead), Number(t) - 1 - lead);
      const orthogonal = (await bits.below(inside + b * tails)) < inside;
      do {
        point = digits(await bits.below(tails), Number(t) - 1);
        const dot = tail.reduce((sum, coordinate, i) => sum + coordinate * point[lead + i], 0n) % q;
        point.splice(lead, 0, ((orthogonal ? 0n : 1n + (await bits.below(q - 1n))) - dot + q) % q);
      } while (!point.some(Boolean));
      const head = point.findIndex(Boolean);
      while ((inverse * point[head]) % q !== 1n) inverse++;
      return first(head) + point.slice(head + 1).reduce((sum, each) => sum * q + ((each * inverse) % q), 0n);
    } },
  duchi: { fields: "steps ratio", symbols: () => 2n, draw: duchi },
  hybrid: { fields: "steps step window ratio piecewise", symbols: (o) => o.window + o.step * o.steps + 2n,
    draw: (o) => async (bits, slot) => {
      const { ratio: [a, b], step, window, piecewise: [share, whole] } = o, rest = step * o.steps;
      if ((await bits.below(whole)) >= share) return window + rest + (await duchi(o)(bits, slot));
      const u = await bits.below(a * window + b * rest), other = (u - a * window) / b;
      return u < a * window ? step * slot + u / a : other < step * slot ? other : other + window;
    } },
};
const canonical = (task) => JSON.stringify(task, (_, value) => { // as Python writes it: sorted keys, no spaces, ASCII
  check(typeof value !== "number" || Number.isSafeInteger(value), `${value} is not an integer of 53 bits`);
  const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
  return isObject ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, value[name]])) : value;
}).replace(/[^ -~]/g, (unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0"));
const rational = (string) => {
  const [, whole, decimals = "", divisor = "1"] = /^(-?\d{1,41})(?:\.(\d{1,41})|\/(\d{1,41}))?$/.exec(string) ?? [];
  check(typeof string === "string" && whole && BigInt(divisor), `${string} is not a decimal or a fraction as text`);
  return [BigInt(whole + decimals), BigInt(divisor) * 10n ** BigInt(decimals.length)];
};
const integers = (fields, names, epsilon) => { // as BigInt, if they are in range and lose at most epsilon
  const o = {}, [n, d] = rational(epsilon), own = names.split(" ");
  check(Object.keys(fields ?? {}).every((name) => name === "kind" || own.includes(name)), `it has more than ${names}`);
  for (const name of own) {
    const value = fields?.[name], isPair = /^(ratio|one|zero|piecewise)$/.test(name);
    const isFit = isPair ? value?.length === 2 && isWhole(value[1], 1) && isWhole(value[0], 0) : isWhole(value, 1);
    check(isFit && (name === "ratio" ? value[0] >= value[1] : !isPair || value[0] <= value[1]), `${name} is out of range`);
    o[name] = isPair ? value.map(BigInt) : BigInt(value);
  }
  const [[p, r], [q, s]] = o.ratio ? [o.ratio, [1n, 1n]] : [o.one, o.zero];
  const [a, b] = o.ratio ?? [p * (s - q), (r - p) * q];
  let term = 2n ** 128n, total = term;
  for (let count = 1n; count < 400n; count++) total += term = (term * n) / (count * d); // e^epsilon, rounded down
  const isSafe = n >= 0n && n <= 64n * d && (o.ratio || p * s >= q * r) && b && a * 2n ** 128n <= b * total;
  check(isSafe, `its likelihoods differ by more than e^${epsilon}, or epsilon is not between 0 and 64`);
  return o;
};
const slots = ({ domain, domain: { size, values }, default: outside }) => { // their number, and that of a value
  const is = (value, type) => check(typeof value === type, `the value is not a ${type}`) ?? true;
  check(["size", "values", "steps"].filter((name) => name in domain).length === 1, "it has no domain");
  if (size) return [size, (value) => (is(value, "number") && isWhole(value, 0, size - 1) ? value : outside)];
  const isKnown = (value) => is(value, "string") && values.includes(value);
  if (values) check(values.every(isKnown) && new Set(values).size === values.length, "a value is twice in its domain");
  if (values) return [values.length, (value) => (isKnown(value) ? values.indexOf(value) : outside)];
  const [[a, b], [c, d], steps] = [rational(domain.low), rational(domain.high), domain.steps];
  check(a * d < c * b && isWhole(steps, 1), "its domain is empty");
  return [steps + 1, (value) => { // the nearest step, the upper one of two
    if (is(value, "number") && !Number.isFinite(value)) return Number.isNaN(value) ? outside : value > 0 ? steps : 0;
    let y = 1n;
    while (!Number.isInteger(value)) [value, y] = [2 * value, 2n * y];
    const twice = 2n * (BigInt(value) * b - a * y) * d * BigInt(steps), whole = y * (c * b - a * d);
    return twice < 0n ? 0 : Math.min(Number((twice + whole) / (2n * whole)), steps);
  }];
};
const encoder = (o, symbols) => { // the length and the bytes of an outcome: a symbol, a bitmap, or slots if they are shorter
  const width = Math.max(1, (bitLength((symbols || o.size) - 1n) + 7) >> 3), length = (Number(o.size ?? 0n) + 7) >> 3;
  const list = (slots) => join(...slots.map((slot) => bytesOf(slot, width)));
  if (symbols) return [width, (symbol) => list([symbol])];
  if (o.subset && length > o.subset * BigInt(width)) return [Number(o.subset) * width, list];
  const mark = (bitmap, slot) => bitmap.fill(bitmap[slot >> 3] | (128 >> slot % 8), slot >> 3, (slot >> 3) + 1);
  const slotsOf = o.subset ? (slots) => slots : (bits) => bits.flatMap((bit, slot) => (bit ? [slot] : []));
  return [length, (outcome) => slotsOf(outcome).reduce(mark, new Uint8Array(length))];
};
// secret: 16 bytes or more. save(state), one transaction, appends the records that are not stored, keeps the stored ones
// first and returns { records: all }; without it one tab alone may have the state. Tests alone replace _supply.
export class Client {
  static async open(assignment, { secret, state, save = async () => {}, hash } = {}) {
    const { task, cohort } = typeof assignment === "string" ? JSON.parse(assignment) : assignment;
    const digest = await sha256(text(canonical(task))), kind = task.oracle?.kind, most = task.max_values ?? 0;
    check(hash === undefined || hash === hex(digest), `its hash ${hex(digest)} is not the pinned one, ${hash}`);
    check(task.format === "discreet.local.task/1" && Object.hasOwn(oracles, kind), "its format or oracle is unknown");
    const { fields, symbols, draw, isValid = () => true } = oracles[kind], o = integers(task.oracle, fields, task.epsilon);
    const [size, slotOf] = slots(task), isFresh = task.repeat === "fresh", isTwoStage = task.repeat === "two_stage";
    check(size === Number(o.size ?? o.steps + 1n) && isWhole(size, 2, 2 ** 24) && isValid(o), "its integers disagree");
    const [length, encode] = encoder(o, symbols(o));
    check(isWhole(task.cohorts, 1, 65536) && isWhole(cohort, 0, task.cohorts - 1) && isWhole(task.default, 0, size - 1)
      && isWhole(task.max_values ?? 1, 1) && isWhole(task.max_bytes, 31 + length) && task.trust !== "dap", "its fields fail");
    check(isFresh || task.repeat === "memoised" || (isTwoStage && /^(krr|lh|unary)$/.test(kind)), "its repeat fails");
    check(isFresh || (state && (secret?.length ?? 16) >= 16), "a memoised client needs a state and 16 secret bytes");
    const own = bytesOf(cohort, 2), label = join(digest, own), seed = await sha256(join(digest.slice(0, 8), text("hash"), own));
    const stage = isTwoStage && integers(task.second, kind === "unary" ? "one zero" : "ratio", task.epsilon_second);
    const second = stage && (stage.one ? coins(stage) : krr({ ...stage, size: symbols(o) }));
    const records = ((state ??= {}).records ??= []), given = isFresh ? new Uint8Array(1) : secret; // zeros: no key
    const pins = async (key) => ({ format: "discreet.local.state/1", task: hex(digest), cohort,
      secret_check: hex(await hmac(key, join(label, text("state")))) });
    const fresh = given ?? systemBytes(32).slice(0, 32);
    if (!records.length) records.push({ ...(await pins(fresh)), secret: given ? null : hex(fresh) });
    state = (await save(state)) ?? state; // what is stored decides: another tab may have been first
    const pinned = state.records[0], key = given ?? unhex(pinned.secret ?? "00");
    for (const [name, value] of Object.entries(await pins(key))) check(pinned[name] === value, `another ${name}`);
    const header = join([1], digest.slice(0, 8), own), parts = { task, label, slotOf, most, pinned, isFresh, second, encode, save };
    return Object.assign(new Client(), parts, { draw: draw(o, seed), state, key, header, outcomes: {}, _supply: systemBytes });
  }
  async report(value, batch = 0) {
    check(isWhole(batch, 0, 2 ** 32 - 1), `batch ${batch} is not a number of 32 bits`);
    const slot = this.slotOf(value), bits = new RandomBits(this._supply);
    const outcome = await (this.isFresh ? this.draw(bits, BigInt(slot)) : this.permanent(slot));
    const payload = this.encode(this.second ? await this.second(bits, outcome) : outcome);
    return join(this.header, bytesOf(batch, 4), await bits.take(16), payload);
  }
  async permanent(slot) { // of a slot among the first `max_values` of the state, else of the default
    if (slot in this.outcomes) return this.outcomes[slot];
    const visits = () => [...new Set(this.state.records.map((r) => r.visited))].filter(Number.isInteger).slice(0, this.most);
    if (visits().length < this.most && !visits().includes(slot)) this.state.records.push({ visited: slot });
    this.state = (await this.save(this.state)) ?? this.state;
    check(this.state.records[0].secret_check === this.pinned.secret_check, "its state has lost its first record");
    const isVisited = !this.most || visits().includes(slot);
    const label = join(this.label, text(isVisited ? "value" : "default"), isVisited ? bytesOf(slot, 4) : []);
    const bits = new RandomBits(stream(this.key, label)), own = BigInt(isVisited ? slot : this.task.default);
    return (this.outcomes[slot] = await this.draw(bits, own));
  }
}
