/**
 * Text of an exact length in tokens for what a plan knows only by numbers: short common words, each of which
 * is one token to the simulated engine and to most tokenizers. Equal block numbers give equal words, so texts
 * share a beginning exactly where plans do.
 */
import { hashText } from '../../testkit/sim-engine/core/random.ts';
import { blockTokens } from '../../testkit/sim-engine/core/tokens.ts';
import type { RunPlan } from '../sim/workload.ts';

/** None is longer than six letters, or it would be two tokens. */
const vocabulary =
  `about above after again air all along also always among and animal answer any area ask away back be bear
  bed been before began best better big bird black blue boat body book both box boy bring brown build but by
  call came can car care carry cause center change check city class clear close cold color come common could
  course cross cut dark day deep did do dog done door down draw drive dry each early earth ease east eat end
  enough even every eye face fact fall family far farm fast father feel feet few field figure fill final find
  fine fire first fish five fly follow food foot for force form found four free friend from front full game
  gave get girl give go gold good got great green ground group grow had half hand happen hard has have he head
  hear heat help her here high hold home horse hot hour house how idea if inch island just keep kind king knew
  know land large last late laugh lead learn leave left less let letter life light like line list listen
  little live long look love low machine made main make man many map mark may mean men might mile mind minute
  miss money moon more most mother move much music must name near need never new next night north note notice
  noun now number off often old on once one only open or order other our out over own page paper part pass
  pattern people person piece place plain plan plane plant play point pose power press pull put rain ran reach
  read ready real record red remember rest right river road rock room round rule run said same saw say school
  sea second see seem self set ship short show side simple since sing size sleep slow small snow so some song
  soon sound south special spell stand star start state stay step still stood stop story street strong study
  such sun sure table tail take talk teach tell ten test than that the them then there these they thing think
  this those though three through time to told too took top toward town travel tree true try turn two under
  until up upon us use usual very voice vowel wait walk want war warm was watch water way we week well went
  were west what wheel when where which while white who whole why will wind with wonder wood word work world
  would write year yes yet young`
    .split(/\s+/)
    .filter((word) => word.length <= 6);

/**
 * Tokens `from` to `from + count` of a run's conversation, joined by blanks; '' when `count` is not positive.
 * Beyond the whole blocks that the plan has numbers for, the words are the run's own.
 */
export function textOfTokens(plan: RunPlan, from: number, count: number): string {
  const words: string[] = [];
  for (let at = from; at < from + count; at += 1) {
    const block = Math.floor(at / blockTokens);
    const owner = plan.blockHashes[block] ?? `${plan.id} ${block}`;
    words.push(vocabulary[hashText(`${owner}.${at % blockTokens}`) % vocabulary.length] ?? 'so');
  }
  return words.join(' ');
}

/** Tokens at the start of the conversation that belong to a prompt that other runs have too. */
export function sharedTokens({ blockHashes }: RunPlan): number {
  const own = blockHashes.findIndex((hash) => !isShared(hash));
  return (own === -1 ? blockHashes.length : own) * blockTokens;
}

/** Owners of shared prompts are odd, see planRun. */
function isShared(blockHash: number): boolean {
  return Math.floor(blockHash / blocksOfOwner) % 2 === 1;
}

const blocksOfOwner = 65_536;
