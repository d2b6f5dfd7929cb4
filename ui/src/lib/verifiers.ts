// One configuration to begin with for each kind of verifier.

export const EXAMPLES: Record<string, object> = {
  numeric: { type: 'numeric' },
  'numeric in tags': { type: 'numeric', extract: 'tag' },
  mathematics: { type: 'math' },
  exact: { type: 'exact' },
  programs: { type: 'code' },
  choice: { type: 'choice', labels: ['yes', 'no'] },
  'multiple choice': { type: 'multiple_choice' },
  expression: { type: 'expression' },
  regex: { type: 'regex', pattern: '^(\\d+)' },
  json: { type: 'json' },
  'JSON Schema': { type: 'json_schema', schema: { type: 'object', required: ['answer'] }, partial: true },
  SQL: { type: 'sql', setup: "create table city (name text); insert into city values ('Rome')" },
  constraints: { type: 'constraints', instructions: [{ id: 'length_constraints:number_words', num_words: 20, relation: 'less than' }] },
  length: { type: 'length', rule: 'at_most', length: 100, buffer: 50 },
  repetition: { type: 'repetition', n: 3 },
  'string check': { type: 'string_check', input: '{{ sample.output_text }}', reference: '{{ item.answer }}', operation: 'like' },
  'text similarity': { type: 'text_similarity', input: '{{ sample.output_text }}', reference: '{{ item.answer }}', evaluation_metric: 'bleu' },
  multi: {
    type: 'multi',
    graders: { right: { type: 'numeric' }, brief: { type: 'length', length: 50, buffer: 50 } },
    combine: 'weighted_mean',
    weights: { right: 4 },
  },
}
