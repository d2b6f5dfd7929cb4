/** Hands an answer on unless it is ended before, as an effect does when it asks again: answers overtake one another. */
export function heed<T>(answer: Promise<T>, take: (got: T) => void, fail: (problem: unknown) => void): () => void {
  let wanted = true
  answer.then((got) => wanted && take(got), (problem) => wanted && fail(problem))
  return () => void (wanted = false)
}
