// Collections by a published implementation of Prio3: reports are sharded, checked and added up by two aggregators.
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { Prio3Count, Prio3Histogram, Prio3Sum, Prio3SumVec } from "@divviup/prio3";

const aggregate = async (vdaf, measurements) => {
  const verifyKey = Buffer.from(randomBytes(vdaf.verifyKeySize));
  const outputs = [[], []];
  for (const measurement of measurements) {
    const [nonce, random] = [vdaf.nonceSize, vdaf.randSize].map((size) => Buffer.from(randomBytes(size)));
    const { publicShare, inputShares } = await vdaf.shard(measurement, nonce, random);
    const states = await Promise.all(
      inputShares.map((share, id) => vdaf.prepareInit(verifyKey, id, null, nonce, publicShare, share)),
    );
    const message = await vdaf.unshardPreparationShares(null, states.map((state) => state.preparationShare));
    states.forEach((state, id) => outputs[id].push(vdaf.prepareNext(state.preparationState, message).outputShare));
  }
  const shares = outputs.map((each) => vdaf.aggregate(null, each));
  const result = vdaf.unshard(null, shares, measurements.length);
  return (Array.isArray(result) ? result : [result]).map(Number);
};

const length = 4, shares = 2, chunkLength = 2;
const histogram = Array.from({ length: 40 }, (_, i) => (i % 7) % length);
const truths = Array.from({ length: 30 }, (_, i) => i % 3 === 0);
const numbers = Array.from({ length: 20 }, (_, i) => i % 16);
const vectors = numbers.map((each) => [each, 15 - each, 0]);
const written = {
  histogram: [await aggregate(new Prio3Histogram({ shares, length, chunkLength }), histogram), histogram.length],
  count: [await aggregate(new Prio3Count({ shares }), truths), truths.length],
  sum: [await aggregate(new Prio3Sum({ shares, bits: 4 }), numbers), numbers.length],
  vector: [await aggregate(new Prio3SumVec({ shares, bits: 4, length: 3, chunkLength }), vectors), vectors.length],
};
console.log(JSON.stringify(written));
