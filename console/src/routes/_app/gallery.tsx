import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { pictureJobs } from "@/api/jobs/queries";
import { tenantOf } from "@/app/needs-tenant";
import { GalleryPage } from "@/features/gallery/page";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/gallery")({
  validateSearch: z.object({
    // the picture that is shown large
    picture: z.optional(z.catch(z.optional(z.string()), undefined)),
  }),
  beforeLoad: () => needWords("jobs"),
  loader: async ({ context: { client, me } }) => {
    tenantOf(me);
    await client.ensureInfiniteQueryData(pictureJobs);
  },
  component: GalleryPage,
});
