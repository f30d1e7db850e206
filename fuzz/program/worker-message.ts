/** What a worker tells, a line of JSON each. */
export type WorkerMessage =
  | { readonly kind: 'progress'; readonly inputs: number; readonly reached: number; readonly corpus: number }
  | { readonly kind: 'finding'; readonly inputs: number; readonly input: string; readonly message: string }
  | { readonly kind: 'done'; readonly inputs: number; readonly reached: number; readonly corpus: number }
