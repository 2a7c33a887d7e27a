import { describe, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { eventSchemas } from '../../mcp-server/api/event-bodies.ts';
import type { runDetailSchema, runSummarySchema, treeSchema } from '../../mcp-server/api/run-bodies.ts';
import type { LiveTurn } from '../../mcp-server/runs/live-turn.ts';
import type { PoolView } from '../../mcp-server/runs/pool-client.ts';
import type { RunTimeline } from '../../mcp-server/runs/read-timeline.ts';
import type { TranscriptPage } from '../../mcp-server/runs/read-transcript.ts';
import type * as page from '../../web/api/types.ts';

describe('what the page reads of /api', () => {
  it('is what the server answers; the check of types decides', () => {
    expectTypeOf<z.infer<typeof runSummarySchema>>().toExtend<page.Run>();
    expectTypeOf<z.infer<typeof runDetailSchema>>().toExtend<page.RunDetail>();
    expectTypeOf<z.infer<typeof treeSchema>>().toExtend<page.RunTree>();
    expectTypeOf<RunTimeline>().toExtend<page.Timeline>();
    expectTypeOf<TranscriptPage>().toExtend<page.Transcript>();
    expectTypeOf<{ live: LiveTurn | null }>().toExtend<page.LiveAnswer>();
    expectTypeOf<PoolView>().toExtend<page.Pool>();
  });

  it('is what events tell', () => {
    type Told = { [N in keyof typeof eventSchemas]: z.infer<(typeof eventSchemas)[N]> };
    expectTypeOf<Told>().toExtend<page.Events>();
  });
});
