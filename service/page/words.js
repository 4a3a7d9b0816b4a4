/** Which words of two translations differ. */

/** Both texts as runs of words, `[text, isDifferent]`, by a longest common subsequence. */
export function differences(one, other, language) {
  const [left, right] = [words(one, language), words(other, language)];
  const kept = common(left, right);
  return [runs(left, new Set(kept.map(([i]) => i))), runs(right, new Set(kept.map(([, j]) => j)))];
}

function words(text, language) {
  return [...segmenter(language).segment(text)].map(({ segment }) => segment);
}

function segmenter(language) {
  try {
    return new Intl.Segmenter(language, { granularity: "word" });
  } catch {
    return new Intl.Segmenter("en", { granularity: "word" }); // browsers accept fewer codes than a service does
  }
}

function common(left, right) {
  const longest = Array.from({ length: left.length + 1 }, () => new Array(right.length + 1).fill(0));
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      longest[i][j] =
        left[i] === right[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const pairs = [];
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    if (left[i] === right[j]) pairs.push([i++, j++]);
    else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
    else j++;
  }
  return pairs;
}

function runs(words, kept) {
  const found = [];
  words.forEach((word, i) => {
    const isDifferent = !kept.has(i);
    if (found.at(-1)?.[1] === isDifferent) found.at(-1)[0] += word;
    else found.push([word, isDifferent]);
  });
  return found;
}
