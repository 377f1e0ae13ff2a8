import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { offers } from "@/api/catalogue";
import instanceDark from "@/assets/product/instance-dark.webp";
import instanceLight from "@/assets/product/instance-light.webp";
import overviewDark from "@/assets/product/overview-dark.webp";
import overviewLight from "@/assets/product/overview-light.webp";
import startDark from "@/assets/product/start-dark.webp";
import startLight from "@/assets/product/start-light.webp";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ButtonLink } from "@/ui/button";
import { Section } from "@/ui/page";
import { cheapest } from "./estimate";
import { OfferTable } from "./offer-table";
import { Picture, type ProductPicture } from "./picture";

const overview = { light: overviewLight, dark: overviewDark };
const start = { light: startLight, dark: startDark };
const instance = { light: instanceLight, dark: instanceDark };

/** What a visitor sees: what it is, how it looks, what it costs. */
export function StartPage() {
  const { t } = useText();
  const { money } = useFormat();
  const { data } = useQuery(offers);
  const from = cheapest(data ?? []);
  return (
    <>
      <title>{`${t("visitor.title")} · Atelier`}</title>
      <div className="grid items-center gap-x-10 gap-y-8 lg:grid-cols-[minmax(0,1fr)_minmax(0,1.6fr)]">
        <div>
          <h1 className="text-balance font-medium font-serif text-2xl">{t("visitor.title")}</h1>
          <p className="mt-4 max-w-[52ch] text-ink-2">{t("visitor.what")}</p>
          {from && (
            <p className="num mt-5 text-sm">
              {t("visitor.from", {
                price: t("ui.perHour", { price: money(from.price_per_hour, from.currency) }),
              })}
            </p>
          )}
          <div className="mt-3 flex flex-wrap gap-2">
            <ButtonLink kind="primary" to="/sign-in">
              {t("visitor.signIn")}
            </ButtonLink>
            <ButtonLink to="/prices">{t("visitor.seePrices")}</ButtonLink>
          </div>
          <p className="mt-3 max-w-[52ch] text-ink-3 text-xs">{t("visitor.invited")}</p>
        </div>
        <Picture of={overview} alt={t("visitor.overviewAlt")} first />
      </div>
      <div className="mt-14 grid gap-x-8 gap-y-10 md:grid-cols-2">
        <Shown of={start} title={t("visitor.startTitle")} alt={t("visitor.startAlt")}>
          {t("visitor.startHint")}
        </Shown>
        <Shown of={instance} title={t("visitor.instanceTitle")} alt={t("visitor.instanceAlt")}>
          {t("visitor.instanceHint")}
        </Shown>
      </div>
      {data && data.length > 0 && (
        <div className="mt-14">
          <Section
            title={t("visitor.roomNow")}
            actions={
              <Link to="/prices" className="text-sm text-ultra hover:underline">
                {t("visitor.allPrices")}
              </Link>
            }
          >
            <OfferTable items={data} />
          </Section>
        </div>
      )}
    </>
  );
}

function Shown({
  of,
  title,
  alt,
  children,
}: {
  of: ProductPicture;
  title: string;
  alt: string;
  children: string;
}) {
  return (
    <section>
      <Picture of={of} alt={alt} />
      <h2 className="mt-4 font-medium text-lg">{title}</h2>
      <p className="mt-1 max-w-[60ch] text-ink-2 text-sm">{children}</p>
    </section>
  );
}
