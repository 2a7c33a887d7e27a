/** The two service classes; a request that names none is interactive. */
import { z } from 'zod';

export const serviceClassSchema = z.enum(['interactive', 'batch']);
export type ServiceClass = z.infer<typeof serviceClassSchema>;

export const defaultServiceClass: ServiceClass = 'interactive';
